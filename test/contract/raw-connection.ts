import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Answer } from '../support/requests.ts';

/** A connection, over TLS where the URL says https, for requests that no HTTP client would send. */
export interface RawConnection {
  send(bytes: string | Buffer): void;
  /** The next final answer; null when the connection ends without one. `head` for an answer without a body. */
  read(kind?: 'head'): Promise<Answer | null>;
  /** The next answer, which may be an interim one, such as `100 Continue`. */
  readAny(): Promise<Answer | null>;
  /** Resolves when the service has closed the connection. */
  readonly closed: Promise<void>;
  /** Says that nothing more will be sent. Answers can still be read. */
  endSending(): void;
  end(): void;
}

/** Longer than any timeout of the service: a test that reaches it has failed. */
const DEADLINE_MS = 20_000;

export async function openRawConnection(url: string): Promise<RawConnection> {
  const { hostname, port, protocol } = new URL(url);
  const address = { host: hostname, port: Number(port), noDelay: true };
  const socket = protocol === 'https:' ? connectTls(address) : connect(address);
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect');
  const deadline = setTimeout(() => socket.destroy(new Error('the deadline of the test passed')), DEADLINE_MS);
  let received = Buffer.alloc(0);
  let wake = (): void => {};
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, Buffer.from(chunk)]);
    wake();
  });
  // A reset is one way in which the service may close a connection.
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(deadline);
    resolve();
    wake();
  });

  async function readAny(kind?: 'head'): Promise<Answer | null> {
    for (;;) {
      const taken = takeAnswer(received, kind === 'head');
      if (taken !== null) {
        received = taken.rest;
        return taken.answer;
      }
      if (socket.closed) return null;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  return {
    closed,
    send: (bytes) => void socket.write(bytes),
    endSending: () => socket.end(),
    end: () => socket.destroy(),
    readAny: () => readAny(),
    async read(kind) {
      for (;;) {
        const answer = await readAny(kind);
        if (answer === null || answer.status >= 200) return answer;
      }
    },
  };
}

/** Sends bytes on a new connection. Returns the answers until the service closes it, `answers` of them at most. */
export async function exchange(url: string, bytes: string | Buffer, answers = 1): Promise<Answer[]> {
  const connection = await openRawConnection(url);
  try {
    connection.send(bytes);
    const read: Answer[] = [];
    for (let answer; read.length < answers && (answer = await connection.read()) !== null; ) read.push(answer);
    return read;
  } finally {
    connection.end();
  }
}

/** As `exchange`, for exactly one answer. @throws Error when there is none */
export async function exchangeOne(url: string, bytes: string | Buffer): Promise<Answer> {
  const [answer] = await exchange(url, bytes);
  if (answer === undefined) throw new Error('the connection was closed without an answer');
  return answer;
}

interface RawRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A well-formed request as bytes. `target` is sent unchanged, each character as one byte. */
export function rawRequest(method: string, target: string, { headers = {}, body = '' }: RawRequest = {}): Buffer {
  const length = body.length === 0 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: 'tiba.test', ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const head = Buffer.from(`${[`${method} ${target} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, typeof body === 'string' ? Buffer.from(body) : body]);
}

function takeAnswer(received: Buffer, bodyless: boolean): { answer: Answer; rest: Buffer<ArrayBuffer> } | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not an HTTP response: ${statusLine}`);
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const length = bodyless || status < 200 ? 0 : Number(headers.get('content-length'));
  const end = headEnd + 4 + length;
  if (received.length < end) return null;
  const text = received.toString('utf8', headEnd + 4, end);
  const isJson = text !== '' && !headers.get('content-type')?.startsWith('text/');
  const answer = { status, headers, text, json: isJson ? JSON.parse(text) : {} };
  return { answer, rest: Buffer.from(received.subarray(end)) };
}
