import type { Dispatcher } from 'undici';
import { ExchangeTooLarge } from '../lib/exchange-limit.ts';
import { createBankConnections } from './bank-connections.ts';
import type { BankTransport } from './transport.ts';

export interface BankReply {
  readonly status: number;
  readonly body: string;
}

/** The exchange ended without a reply that can be read. */
export class NoReply extends Error {
  readonly reason: 'timeout' | 'unreachable' | 'unreadable';

  constructor(reason: NoReply['reason'], cause: unknown) {
    super(`no reply from the bank: ${reason}`, { cause });
    this.reason = reason;
  }
}

export interface BankHttp {
  /** @throws NoReply */
  post(path: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<BankReply>;
  close(): Promise<void>;
}

/** Splits a bank's address: the paths of its services follow the prefix. */
export function splitBaseUrl(baseUrl: string): { readonly origin: string; readonly prefix: string } {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, prefix: pathname.replace(/\/$/, '') };
}

/** No valid reply is longer. A longer one is a mistake or an attack. */
const REPLY_BYTES_MAX = 64 * 1024;
/** Interim (1xx) replies, RFC 9110, 15.2. A valid reply needs none. */
const INTERIM_REPLIES_MAX = 32;
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * An HTTP client for one bank. Connections are kept alive. Redirects are not followed, and nothing is decompressed.
 * `signal` bounds the whole exchange: with a timeout per chunk, a bank that sends one byte a second could hold a
 * request without end.
 */
export function createBankHttp(origin: string, transport: BankTransport = {}): BankHttp {
  const connections = createBankConnections(origin, transport);
  return {
    post: (path, headers, body, signal) =>
      new Promise((resolve, reject) => {
        const connection = connections.acquire();
        const end = (): void => connections.release(connection);
        connection.dispatch({ origin, method: 'POST', path, headers, body }, receive(signal, { resolve, reject, end }));
      }),
    close: connections.close,
  };
}

interface ReplyHandler {
  resolve(reply: BankReply): void;
  reject(reason: NoReply): void;
  /** Called once no more bytes will come. */
  end(): void;
}

/**
 * Receives one reply. undici's own `request` would make a stream of it, which costs more than signing the request and
 * parsing the reply together.
 */
function receive(signal: AbortSignal, { resolve, reject, end }: ReplyHandler): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let interimReplies = 0;
  let status = 0;
  let running: Dispatcher.DispatchController | undefined;

  function fail(reason: NoReply['reason'], cause: unknown): void {
    signal.removeEventListener('abort', abort);
    const noReply = new NoReply(reason, cause);
    reject(noReply);
    // Otherwise the rest of the reply would occupy the connection.
    running?.abort(noReply);
  }
  const abort = (): void => fail('timeout', signal.reason);
  signal.addEventListener('abort', abort);

  return {
    onRequestStart(controller) {
      running = controller;
      if (signal.aborted) controller.abort(new NoReply('timeout', signal.reason));
    },
    onResponseStart(_controller, statusCode) {
      status = statusCode;
      if (statusCode >= 200) return;
      interimReplies += 1;
      if (interimReplies <= INTERIM_REPLIES_MAX) return;
      fail('unreadable', new Error(`more than ${INTERIM_REPLIES_MAX} interim replies`));
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      if (bytes > REPLY_BYTES_MAX) fail('unreadable', new Error(`more than ${REPLY_BYTES_MAX} bytes`));
      else chunks.push(chunk);
    },
    onResponseEnd() {
      end();
      signal.removeEventListener('abort', abort);
      try {
        // Strict decoding: a name with replacement characters for its broken bytes would be shown as the holder's.
        resolve({ status, body: UTF_8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) });
      } catch (error) {
        reject(new NoReply('unreadable', error));
      }
    },
    onResponseError(_controller, error) {
      end();
      if (error instanceof ExchangeTooLarge) fail('unreadable', error);
      else fail(signal.aborted ? 'timeout' : 'unreachable', error);
    },
  };
}
