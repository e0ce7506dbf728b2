import { type Dispatcher, Pool } from 'undici';

export interface SnapReply {
  readonly status: number;
  readonly body: string;
}

/** Why there is no reply. */
export class NoReply extends Error {
  readonly reason: 'timeout' | 'unreachable' | 'too_large';

  constructor(reason: NoReply['reason'], cause: unknown) {
    super(`no reply from the bank: ${reason}`, { cause });
    this.reason = reason;
  }
}

export interface SnapHttp {
  /** @throws NoReply */
  post(path: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<SnapReply>;
  close(): Promise<void>;
}

/** No answer that means anything is longer; a longer one is a mistake or an attack. */
const REPLY_BYTES_MAX = 64 * 1024;
const CONNECTIONS_MAX = 128;

/**
 * The way to one bank. Connections are kept alive; redirects are not followed, nothing is unpacked, and `signal` bounds
 * the whole exchange: timeouts per chunk would let a bank that drips a byte a second hold on for ever.
 */
export function createSnapHttp(origin: string): SnapHttp {
  const pool = new Pool(origin, {
    connections: CONNECTIONS_MAX,
    keepAliveTimeout: 30_000,
    connect: { timeout: 3_000 },
  });
  return {
    async post(path, headers, body, signal) {
      try {
        const response = await pool.request({ method: 'POST', path, headers, body, signal });
        return { status: response.statusCode, body: await readCapped(response.body) };
      } catch (error) {
        if (error instanceof NoReply) throw error;
        throw new NoReply(signal.aborted ? 'timeout' : 'unreachable', error);
      }
    },
    close: () => pool.destroy(),
  };
}

async function readCapped(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (bytes > REPLY_BYTES_MAX) throw new NoReply('too_large', undefined);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
