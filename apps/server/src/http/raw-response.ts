import http from 'node:http';

/** A whole response for a bare socket, which is closed after it. */
export function rawResponse(statusCode: number, headers: Readonly<Record<string, string>>, body: string): string {
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${http.STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`;
}
