import { connect } from 'node:net';
import type { RawAnswer } from '../judge-answer.ts';
import type { RawBytes } from './raw-requests.ts';

export interface Exchange {
  readonly answers: readonly RawAnswer[];
  /** No connection was made: the process is not up. */
  readonly refused: boolean;
}

const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** Sends bytes on a new connection; returns the whole answers that arrived until it closed or fell silent. */
export function exchangeBytes(url: string, { bytes, targets, patienceMs }: RawBytes): Promise<Exchange> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const chunks: Buffer[] = [];
  let length = 0;
  let answered = 0;
  let refused = true;
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.once('connect', () => {
    refused = false;
    socket.write(bytes);
  });
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    answered += countAnswers(chunk);
    // When all are answered there is nothing to wait for.
    if (length > ANSWER_BYTES_MAX || answered >= targets.length) socket.destroy();
  });
  socket.setTimeout(patienceMs, () => socket.destroy());
  socket.on('error', () => {});
  socket.once('close', () => resolve({ answers: readAnswers(Buffer.concat(chunks).toString('latin1')), refused }));
  return promise;
}

const countAnswers = (chunk: Buffer): number => chunk.toString('latin1').split('HTTP/1.1 ').length - 1;

const HEAD = /HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n([^]*?)\r\n\r\n/y;

/** Reads answers with Content-Length in a row. It ends before the first one that is incomplete or has another form. */
export function readAnswers(received: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    HEAD.lastIndex = at;
    const match = HEAD.exec(received);
    if (match === null) return answers;
    const status = Number(match[1]);
    const headers = Object.fromEntries(
      (match[2] ?? '').split('\r\n').map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers['content-length'] ?? 0);
    const bodyAt = HEAD.lastIndex;
    const hasOtherForm = headers['transfer-encoding'] !== undefined;
    if (Number.isNaN(length) || hasOtherForm || received.length < bodyAt + length) return answers;
    at = bodyAt + length;
    const text = Buffer.from(received.slice(bodyAt, at), 'latin1').toString();
    if (status >= 200) answers.push({ status, headers, text });
  }
}
