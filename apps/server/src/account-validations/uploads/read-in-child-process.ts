import { spawn } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ndjsonLines } from '../../lib/ndjson.ts';
import type { Log } from '../../observability/log.ts';
import { LINE_BYTES_MAX, readLine } from './reader-protocol.ts';
import { invalid, tooLarge, type UploadMediaType, type UploadResult, type UploadRow } from './upload.ts';

export interface Apart {
  readonly timeoutMs: number;
  /** Ends the process. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

const READER_PROCESS = fileURLToPath(new URL('reader-process.ts', import.meta.url));

/**
 * What the process may do: read files, as it must for its code. It writes none, reaches no network, starts nothing, and its
 * environment, in which this process has its secrets, is empty. The heap is several times what 50,000 rows need.
 */
const CAGE = ['--permission', '--allow-fs-read=*', '--max-old-space-size=192'];

/** By these a process ends that was killed for its time, or by the kernel or V8 for its memory. */
const EXHAUSTED: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGABRT'] as const);

/**
 * Reads an upload in a process of its own. A thread would not do: where a thread's heap passes its limit, V8 may end the
 * whole process instead of the thread, and a stranger chooses what is put on the heap.
 * @throws Error when `signal` aborts it, or no process can be started
 */
export async function readInChildProcess(
  mediaType: UploadMediaType,
  body: Buffer,
  { timeoutMs, signal, log }: Apart,
): Promise<UploadResult> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [...CAGE, READER_PROCESS, mediaType], {
    env: {},
    // What it says when it dies may quote the upload.
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    // Ctrl-C in the terminal is for this process, which stops when it has answered.
    detached: true,
  });
  lowerPriority(child.pid);
  using _ = addAbortListener(signal, () => child.kill('SIGKILL'));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  // Where none can be started there is nothing to write to, either, and that is what is thrown.
  closed.catch(() => {});
  // A process that dies early leaves its input unread; its end says why.
  child.stdin.on('error', () => {});
  child.stdin.end(body);
  const [result, [exitCode, exitSignal]] = await Promise.all([collect(child.stdout), closed]);
  if (result !== null) return result;
  signal.throwIfAborted();
  log.warn({ exitCode, exitSignal, mediaType, bytes: body.length }, 'the process that read an upload died');
  return exitSignal !== null && EXHAUSTED.has(exitSignal) ? EXHAUSTING : UNREADABLE;
}

/** Whoever waits for an answer goes first. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It may have ended already.
  }
}

const EXHAUSTING = tooLarge('reading it takes too much time or memory: send it in parts, or as CSV').fault;
const UNREADABLE = invalid('the upload cannot be read: save it again, or send it as CSV').fault;

/** Null when the process died before it had said everything. */
async function collect(stdout: AsyncIterable<Buffer>): Promise<UploadResult | null> {
  const rows: UploadRow[] = [];
  for await (const { bytes } of ndjsonLines(stdout, LINE_BYTES_MAX)) {
    const line = bytes === null ? null : readLine(bytes);
    if (line === null) return null;
    if ('end' in line) return line.end ?? { kind: 'rows', rows };
    rows.push(...line.rows);
    // A line a turn: between two, everybody else has a turn.
    await nextTurn();
  }
  return null;
}
