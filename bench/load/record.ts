import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** A response of the service, which the baseline server repeats byte by byte. */
export interface RecordedResponse {
  readonly status: number;
  /** Names and values in turn, as they were sent, without the headers that Node adds by itself. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly keepAliveTimeoutMs: number;
}

const ADDED_BY_NODE = new Set(['date', 'connection', 'keep-alive']);

export async function recordResponse(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<RecordedResponse> {
  const request = get(url, { headers: { ...headers, connection: 'keep-alive' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const body = await text(response);
  const recorded: string[] = [];
  for (let index = 0; index < response.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = response.rawHeaders.slice(index, index + 2);
    if (!ADDED_BY_NODE.has(name.toLowerCase())) recorded.push(name, value);
  }
  const keepAliveSeconds = /timeout=(\d+)/.exec(String(response.headers['keep-alive']))?.[1];
  return {
    status: response.statusCode ?? 0,
    headers: recorded,
    body,
    keepAliveTimeoutMs: Number(keepAliveSeconds ?? 5) * 1000,
  };
}
