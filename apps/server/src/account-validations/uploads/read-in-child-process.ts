import { spawn } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ndjsonLines } from '../../lib/ndjson.ts';
import type { Log } from '../../observability/log.ts';
import type { ResultLine } from './reader-process.ts';
import { invalid, tooLarge, type UploadMediaType, type UploadResult, type UploadRow } from './upload.ts';

export interface ChildProcessOptions {
  readonly timeoutMs: number;
  /** Kills the process. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

const READER_PROCESS = fileURLToPath(new URL('reader-process.ts', import.meta.url));

/**
 * The child process may read files, which it needs for its code. It cannot write files, use the network or start
 * processes, and its environment is empty, because the environment of this process contains secrets. Its heap is twice
 * what the largest uploads need, and keeps the process within 250 MB together with its code and the body.
 */
const CHILD_FLAGS = ['--permission', '--allow-fs-read=*', '--max-old-space-size=144', '--max-semi-space-size=8'];

/** The command line of the child process. It reads exactly `bytes` from stdin. */
export const readerArguments = (mediaType: UploadMediaType, bytes: number): string[] => [
  ...CHILD_FLAGS,
  READER_PROCESS,
  mediaType,
  String(bytes),
];

/** The signals of a process that was killed: by the timeout, or by the kernel or V8 for its memory. */
const EXHAUSTION_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGABRT'] as const);

/**
 * Reads an upload in a process of its own. A thread does not isolate enough: when the heap of a thread exceeds its
 * limit, V8 may end the whole process instead of the thread, and the sender of an upload controls what is put on the
 * heap.
 * @throws Error when `signal` aborts it, or when no process can be started
 */
export async function readInChildProcess(
  mediaType: UploadMediaType,
  body: Buffer,
  { timeoutMs, signal, log }: ChildProcessOptions,
): Promise<UploadResult> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, readerArguments(mediaType, body.length), {
    env: {},
    // stderr is ignored, because the message of a crash may quote the upload.
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    // Ctrl-C in the terminal reaches this process only, which stops after it has answered.
    detached: true,
  });
  lowerPriority(child.pid);
  using _ = addAbortListener(signal, () => child.kill('SIGKILL'));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  // When no process can be started, writing to it throws as well, and that error is the one that is reported.
  closed.catch(() => {});
  // A process that dies early leaves its input unread; the way it ended tells why.
  child.stdin.on('error', () => {});
  child.stdin.end(body);
  const [result, [exitCode, exitSignal]] = await Promise.all([collect(child.stdout), closed]);
  if (result !== null) return result;
  signal.throwIfAborted();
  log.warn({ exitCode, exitSignal, mediaType, bytes: body.length }, 'upload reader process died; upload rejected');
  return exitSignal !== null && EXHAUSTION_SIGNALS.has(exitSignal) ? EXHAUSTING : UNREADABLE;
}

/** Requests whose clients wait for an answer come first. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process may have ended already.
  }
}

const EXHAUSTING = tooLarge({
  en: 'reading it takes too much time or memory: send it in parts, or as CSV',
  id: 'pembacaannya memakan terlalu banyak waktu atau memori: kirim dalam beberapa bagian, atau sebagai CSV',
}).fault;
const UNREADABLE = invalid({
  en: 'the upload cannot be read: save it again, or send it as CSV',
  id: 'unggahan tidak dapat dibaca: simpan lagi berkasnya, atau kirim sebagai CSV',
}).fault;

/** A hundred rows of the longest kind, with every character escaped. */
const LINE_BYTES_MAX = 2 * 1024 * 1024;

/** Null when the process died before it had written the whole result. */
async function collect(stdout: AsyncIterable<Buffer>): Promise<UploadResult | null> {
  const rows: UploadRow[] = [];
  for await (const { bytes } of ndjsonLines(stdout, LINE_BYTES_MAX)) {
    const line = bytes === null ? null : parseLine(bytes);
    if (line === null) return null;
    if ('end' in line) return line.end ?? { kind: 'rows', rows };
    rows.push(...line.rows);
    // One line in each turn of the event loop, so that other requests get theirs.
    await nextTurn();
  }
  return null;
}

/** Null for an incomplete line: the process died while it wrote it. */
function parseLine(bytes: Buffer): ResultLine | null {
  try {
    return JSON.parse(bytes.toString()) as ResultLine;
  } catch {
    return null;
  }
}
