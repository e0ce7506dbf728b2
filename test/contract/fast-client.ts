import { Pool } from 'undici';
import type { Answer } from '../support/requests.ts';

/**
 * For tests that send thousands of requests: keeps connections open, and sends headers that `fetch` would reject or add
 * to.
 */
export interface FastClient {
  send(target: string, request?: FastRequest): Promise<Answer>;
  close(): Promise<void>;
}

export interface FastRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | null;
}

export function createFastClient(url: string, connections = 32): FastClient {
  const pool = new Pool(url, { connections, headersTimeout: 15_000, bodyTimeout: 15_000 });
  return {
    async send(target, { method = 'GET', headers = {}, body = null } = {}) {
      const response = await pool.request({ path: target, method, headers, body });
      const text = await response.body.text();
      const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
      const isJson = String(response.headers['content-type']).startsWith('application/json');
      const json = isJson && text !== '' ? JSON.parse(text) : {};
      return { status: response.statusCode, headers: new Headers(pairs), text, json };
    },
    close: () => pool.close(),
  };
}
