import fs from 'node:fs';
import { createFileOutput, createStreamOutput, type LogOutput } from './log-output.ts';

/**
 * Lines on their way to an output that may be full, or that nothing reads. They wait in memory up to a bound; lines
 * past it are dropped and counted. A write never blocks a request.
 */
export interface LineBuffer {
  /** Buffers a line, with its line end. Lines are written together, so that a request does not cost a write. */
  append(line: string): void;
  /** The same, and the line is written at once, unless a write is in progress. */
  write(line: string): void;
  /**
   * Writes whole lines of another process at once, unless a write is in progress. They wait outside while half of the
   * buffer is full: `onBuffered` is called when they are in it, and the next ones may come.
   */
  forward(lines: string, onBuffered: () => void): void;
  /** The number of lines that were dropped since the start. */
  dropped(): number;
  /** Writes what is buffered, for a limited time; then drops the rest. */
  close(): Promise<void>;
}

export interface LineBufferOptions {
  /** Called when all buffered lines have been written after `count` more lines were dropped. */
  readonly onCaughtUp: (count: number) => void;
}

/**
 * Characters, which in a log are bytes: about 10,000 access lines, half a second at full load. A longer pause of the
 * disk or of the reader drops lines.
 */
const BUFFERED_LENGTH_MAX = 2 * 1024 * 1024;
/** Lines in one write. One join copies once; appending line by line would build a rope of strings, slow to write. */
const CHUNK_LINES_MAX = 256;
/** A killed process loses at most this much of its log. */
const FLUSH_INTERVAL_MS = 200;
/** After a failed write, such as ENOSPC. */
const RETRY_INTERVAL_MS = 1_000;
const CLOSE_TIMEOUT_MS = 2_000;

/** Lines that are written together. */
interface Chunk {
  text: string | Buffer;
  readonly length: number;
  readonly lines: number;
}

interface BufferState {
  readonly output: LogOutput;
  readonly onCaughtUp: (count: number) => void;
  /** Complete chunks, the oldest first. */
  readonly chunks: Chunk[];
  /** The lines of the next chunk. */
  lines: string[];
  /** Of both. */
  length: number;
  inFlight: Chunk | null;
  retry: NodeJS.Timeout | null;
  /** A line of the next chunk must not wait for more lines. */
  urgent: boolean;
  /** Lines of other processes that have to wait. */
  waiting: { readonly lines: string; readonly onBuffered: () => void }[];
  dropped: number;
  /** How many of the dropped lines `onCaughtUp` has been told. */
  droppedReported: number;
  closed: boolean;
  onIdle: () => void;
}

/** `destination`: the number of a file descriptor, or the path of a file, created with mode 0600 if it is missing. */
export function createLineBuffer(destination: number | string, { onCaughtUp }: LineBufferOptions): LineBuffer {
  const fd = typeof destination === 'number' ? destination : fs.openSync(destination, 'a', 0o600);
  const state: BufferState = {
    output: openOutput(fd, fd !== destination),
    onCaughtUp,
    chunks: [],
    lines: [],
    length: 0,
    inFlight: null,
    retry: null,
    urgent: false,
    waiting: [],
    dropped: 0,
    droppedReported: 0,
    closed: false,
    onIdle: () => {},
  };
  const timer = setInterval(() => flush(state), FLUSH_INTERVAL_MS).unref();
  const onExit = (): void => writeAtExit(state, fd);
  process.on('exit', onExit);

  return {
    append: (line) => append(state, line),
    write(line) {
      append(state, line);
      state.urgent = true;
      flush(state);
    },
    forward(lines, onBuffered) {
      state.waiting.push({ lines, onBuffered });
      takeWaiting(state);
      flush(state);
    },
    dropped: () => state.dropped,
    async close() {
      clearInterval(timer);
      process.off('exit', onExit);
      await writeRest(state);
      state.closed = true;
      state.output.close();
    },
  };
}

function openOutput(fd: number, ownsFd: boolean): LogOutput {
  const stats = fs.fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() ? createStreamOutput(fd) : createFileOutput(fd, ownsFd);
}

function append(state: BufferState, line: string): void {
  if (state.length + line.length > BUFFERED_LENGTH_MAX || state.closed) {
    state.dropped += 1;
    return;
  }
  state.length += line.length;
  state.lines.push(line);
  if (state.lines.length >= CHUNK_LINES_MAX) {
    completeChunk(state);
    writeNext(state);
  }
}

function takeWaiting(state: BufferState): void {
  while (state.length < BUFFERED_LENGTH_MAX / 2 || state.closed) {
    const next = state.waiting.shift();
    if (next === undefined) return;
    append(state, next.lines);
    state.urgent = true;
    next.onBuffered();
  }
}

function completeChunk(state: BufferState): void {
  if (state.lines.length === 0) return;
  const text = state.lines.join('');
  state.chunks.push({ text, length: text.length, lines: state.lines.length });
  state.lines = [];
  state.urgent = false;
}

/** Lines that have to wait for a write are not made a chunk of their own: there would be a chunk for each line. */
function flush(state: BufferState): void {
  if (state.inFlight !== null || state.retry !== null) return;
  completeChunk(state);
  writeNext(state);
}

function writeNext(state: BufferState): void {
  if (state.inFlight !== null || state.retry !== null) return;
  const chunk = state.chunks.shift();
  if (chunk === undefined) return;
  state.inFlight = chunk;
  state.output.write(chunk.text, (error, unwritten) => onWritten(state, chunk, error, unwritten));
}

function onWritten(state: BufferState, chunk: Chunk, error: Error | null, unwritten: Buffer | null): void {
  state.inFlight = null;
  if (state.closed) return;
  if (unwritten !== null) {
    // Written again from where it stopped, so that no line is torn.
    chunk.text = unwritten;
    state.chunks.unshift(chunk);
  } else {
    state.length -= chunk.length;
    if (error !== null) state.dropped += chunk.lines;
    takeWaiting(state);
  }
  if (error !== null) {
    state.retry = setTimeout(() => {
      state.retry = null;
      flush(state);
    }, RETRY_INTERVAL_MS).unref();
    state.onIdle();
    return;
  }
  if (state.urgent) completeChunk(state);
  if (state.chunks.length > 0) writeNext(state);
  else reportCaughtUp(state);
}

function reportCaughtUp(state: BufferState): void {
  const count = state.dropped - state.droppedReported;
  state.droppedReported = state.dropped;
  if (count > 0) state.onCaughtUp(count);
  if (state.inFlight === null) state.onIdle();
}

/** Writes everything; gives up after an error, or when the output does not take it in time. */
async function writeRest(state: BufferState): Promise<void> {
  if (state.retry !== null) clearTimeout(state.retry);
  state.retry = null;
  completeChunk(state);
  const { promise: idle, resolve } = Promise.withResolvers<void>();
  state.onIdle = resolve;
  writeNext(state);
  if (state.inFlight === null) return;
  const deadline = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  await idle;
  clearTimeout(deadline);
  if (state.retry !== null) clearTimeout(state.retry);
}

/** For a process that ends without `close`: a defect may have ended it, and the last lines say which. */
function writeAtExit(state: BufferState, fd: number): void {
  completeChunk(state);
  try {
    fs.writeSync(fd, Buffer.concat(state.chunks.map(({ text }) => Buffer.from(text))));
  } catch {
    // A full disk, or a pipe that is not read: waiting would keep the process from ending.
  }
}
