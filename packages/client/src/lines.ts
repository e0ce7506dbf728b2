import { type Clock, untilAborted } from './clock.ts';

/** The service writes at least every 15 s to an open stream. A stream that is silent for longer has broken. */
export const SILENT_MS_MAX = 45_000;

export interface LineOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long the stream may send nothing, from now on. */
  readonly silentMsMax?: () => number;
}

/**
 * The lines of a body as they arrive, without their ends (LF or CR LF). Ends the connection when the reader stops.
 * @throws Error when the stream is silent for too long; what `fetch` throws when the connection breaks
 */
export async function* readLines(body: ReadableStream<Uint8Array>, options: LineOptions): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, options);
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield line.replace(/\r$/, '');
    }
    if (rest !== '') yield rest;
  } finally {
    // Not awaited: a connection that is stuck may never confirm.
    reader.cancel().catch(() => undefined);
  }
}

const readWithin = (
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { clock, signal, silentMsMax }: LineOptions,
): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> =>
  untilAborted(signal, (resolve, reject) => {
    const silentMs = silentMsMax?.() ?? SILENT_MS_MAX;
    const cancel = clock.setTimer(() => reject(new Error(`the stream was silent for ${silentMs} ms`)), silentMs);
    reader.read().then(
      (result) => {
        cancel();
        resolve(result);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
    return cancel;
  });

/** The `data` of server-sent events (HTML Living Standard, section 9.2), as far as the service uses them. */
export async function* readEventData(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of lines) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
  }
}
