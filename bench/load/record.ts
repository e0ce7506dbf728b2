import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** An answer of the service, for a bare server to repeat byte by byte. */
export interface RecordedAnswer {
  readonly status: number;
  /** Names and values in turn, as they were sent, without those that Node adds by itself. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly keepAliveTimeoutMs: number;
}

const ADDED_BY_NODE = new Set(['date', 'connection', 'keep-alive']);

export async function recordAnswer(url: string, headers: Readonly<Record<string, string>>): Promise<RecordedAnswer> {
  const request = get(url, { headers: { ...headers, connection: 'keep-alive' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const body = await text(response);
  const kept: string[] = [];
  for (let index = 0; index < response.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = response.rawHeaders.slice(index, index + 2);
    if (!ADDED_BY_NODE.has(name.toLowerCase())) kept.push(name, value);
  }
  const keepAliveSeconds = /timeout=(\d+)/.exec(String(response.headers['keep-alive']))?.[1];
  return {
    status: response.statusCode ?? 0,
    headers: kept,
    body,
    keepAliveTimeoutMs: Number(keepAliveSeconds ?? 5) * 1000,
  };
}
