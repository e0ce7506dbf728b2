import type { Dispatcher } from 'undici';
import { createBankConnections } from './bank-connections.ts';
import type { BankTransport } from './transport.ts';

export interface BankReply {
  readonly status: number;
  readonly body: string;
}

/** Why there is no reply. */
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

/** A bank's address in two parts: the paths of its services stand behind the prefix. */
export function splitBaseUrl(baseUrl: string): { readonly origin: string; readonly prefix: string } {
  const { origin, pathname } = new URL(baseUrl);
  return { origin, prefix: pathname.replace(/\/$/, '') };
}

/** No answer that means anything is longer; a longer one is a mistake or an attack. */
const REPLY_BYTES_MAX = 64 * 1024;
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The way to one bank. Connections are kept alive; redirects are not followed, nothing is unpacked, and `signal` bounds
 * the whole exchange: timeouts per chunk would let a bank that drips a byte a second hold on for ever.
 */
export function createBankHttp(origin: string, transport: BankTransport = {}): BankHttp {
  const connections = createBankConnections(origin, transport);
  return {
    post: (path, headers, body, signal) =>
      new Promise((resolve, reject) => {
        const connection = connections.take();
        const end = (): void => connections.giveBack(connection);
        connection.dispatch({ origin, method: 'POST', path, headers, body }, receive(signal, { resolve, reject, end }));
      }),
    close: connections.close,
  };
}

interface Receiving {
  resolve(reply: BankReply): void;
  reject(reason: NoReply): void;
  /** Nothing more comes. */
  end(): void;
}

/**
 * Takes one reply in. undici's own `request` would make a stream of it, which costs more than signing the question and
 * reading the answer together.
 */
function receive(signal: AbortSignal, { resolve, reject, end }: Receiving): Dispatcher.DispatchHandler {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let status = 0;
  let running: Dispatcher.DispatchController | undefined;

  function fail(reason: NoReply['reason'], cause: unknown): void {
    signal.removeEventListener('abort', abort);
    const noReply = new NoReply(reason, cause);
    reject(noReply);
    // The rest of the reply would only hold the connection.
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
        // Strict: a name with its broken bytes replaced would be shown as the holder's.
        resolve({ status, body: UTF_8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) });
      } catch (error) {
        reject(new NoReply('unreadable', error));
      }
    },
    onResponseError(_controller, error) {
      end();
      fail(signal.aborted ? 'timeout' : 'unreachable', error);
    },
  };
}
