import { type OutgoingHttpHeaders, request } from 'node:http';

export interface Message {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/**
 * Sends one POST and says whether it was answered with 2xx in time. Follows no redirect: the address was checked, the
 * one that a redirect names was not.
 */
export function post(url: URL, message: Message, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const headers = { ...message.headers, 'Content-Length': Buffer.byteLength(message.body) };
  // A connection of its own each time: one that is kept may be closed by the other side just when it is used again.
  const outgoing = request(url, { method: 'POST', headers, agent: false, signal });
  const timer = setTimeout(() => outgoing.destroy(), timeoutMs);
  outgoing.once('response', (response) => {
    const status = response.statusCode ?? 0;
    resolve(status >= 200 && status < 300);
    response.on('error', () => {}).resume();
  });
  // Whatever went wrong, "close" comes after it.
  outgoing.on('error', () => {});
  outgoing.once('close', () => {
    clearTimeout(timer);
    resolve(false);
  });
  outgoing.end(message.body);
  return promise;
}
