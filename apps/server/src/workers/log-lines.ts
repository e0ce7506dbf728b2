import type { Readable } from 'node:stream';
import type { LogSink } from '../observability/log.ts';

/**
 * Forwards the lines of a worker's log, whole: the lines of several processes that write to one pipe may be torn.
 * While the parent's log cannot be written, the worker's is not read; then the worker drops lines and counts them.
 * What a killed worker wrote of its last line is left out. Resolves when everything is read.
 */
export function forwardLines(stream: Readable | null | undefined, forward: LogSink['forward']): Promise<void> {
  // Node has no stream for a process that could not be started.
  if (!stream) return Promise.resolve();
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    const lines = rest + text.slice(0, end);
    rest = text.slice(end);
    let isBuffered = false;
    forward(lines, () => {
      isBuffered = true;
      stream.resume();
    });
    if (!isBuffered) stream.pause();
  });
  return new Promise((resolve) => {
    stream.once('close', resolve);
  });
}
