import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import { statusUpdate } from '../support/requests.ts';

export interface LoadOptions {
  /** For clients. */
  readonly url: string;
  /** For the disbursement core. */
  readonly coreUrl: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string; readonly token: string };
  readonly coreToken: string;
}

export interface LoadReport {
  readonly requests: number;
  /** Each request that was not answered as it should be. */
  readonly failures: readonly string[];
  /** The IDs of the transactions whose feed was acknowledged. */
  readonly fed: readonly string[];
}

export interface Load {
  /** Requests that were answered so far. */
  answered(): number;
  /** Resolves when the requests in flight are answered. */
  stop(): Promise<LoadReport>;
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const WORKERS_OF_A_KIND = 1;
/** Shorter than the heartbeat of a stream, whose transaction ends within moments. */
const ANSWER_MS_MAX = 10_000;
/** Of a client between two requests. Without it, the load takes the processors that the service and its proxy need. */
const PAUSE_MS = 20;
/** Before the first feed. */
const NO_TRANSACTION = 'NONE000001';

/** What clients send, one function for each kind. */
function kindsOf({
  url,
  client,
  latest,
}: Pick<LoadOptions, 'url' | 'client'> & { readonly latest: () => string }): readonly (() => Sent)[] {
  const bearer = { authorization: `Bearer ${client.token}` };
  const json = { 'content-type': 'application/json' };
  const status = `${url}/api/v1/check-status/`;
  const form = { grant_type: 'client_credentials', client_id: client.clientId, client_secret: client.clientSecret };

  return [
    () => ({ method: 'GET', url: status + latest(), headers: bearer }),
    () => ({ method: 'GET', url: status + latest(), headers: { ...bearer, prefer: 'wait=1' } }),
    () => ({ method: 'GET', url: status + latest(), headers: { ...bearer, accept: 'text/event-stream' } }),
    () => ({ method: 'GET', url: `${url}/api/v1/events`, headers: bearer }),
    () => ({
      method: 'POST',
      url: `${status}batch`,
      headers: { ...bearer, ...json },
      body: JSON.stringify({ ids: [latest()] }),
    }),
    () => ({
      method: 'POST',
      url: `${url}/oauth/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    }),
  ];
}

/** Requests of many kinds, each client one after the other on a connection that is kept open; nothing is repeated. */
export function startLoad({ url, coreUrl, client, coreToken }: LoadOptions): Load {
  const agent = new Agent({ connections: 1, pipelining: 1, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX });
  const failures: string[] = [];
  const fed: string[] = [];
  let answered = 0;
  const stop = new AbortController();
  const latest = (): string => fed.at(-1) ?? NO_TRANSACTION;

  const kinds = kindsOf({ url, client, latest });

  async function send({ method, url: target, headers, body }: Sent, worker: Agent): Promise<string | null> {
    const name = `${method} ${new URL(target).pathname} ${headers['prefer'] ?? headers['accept'] ?? ''}`;
    try {
      const { origin, pathname } = new URL(target);
      const response = await worker.request({ origin, path: pathname, method, headers, body: body ?? null });
      const text = await response.body.text();
      answered += 1;
      // Before the first feed there is no transaction.
      if (response.statusCode === 200 || (response.statusCode === 404 && pathname.endsWith(NO_TRANSACTION)))
        return text;
      failures.push(`${name}: ${response.statusCode} ${text.slice(0, 200)}`);
    } catch (error) {
      failures.push(`${name}: ${String(error)}`);
    }
    return null;
  }

  async function feed(): Promise<void> {
    let count = 0;
    while (!stop.signal.aborted) {
      const transactionId = `LOAD${String((count += 1)).padStart(8, '0')}`;
      const reference = { transaction_id: transactionId, reference_id: transactionId, client_id: client.clientId };
      for (const status of ['PROCESS', 'SUCCESS']) {
        const body = JSON.stringify(statusUpdate({ ...reference, status }));
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${coreToken}` };
        const answer = await send({ method: 'POST', url: `${coreUrl}/feed/v1/transactions`, headers, body }, agent);
        if (answer !== null && status === 'PROCESS') fed.push(transactionId);
        await pause(PAUSE_MS);
      }
    }
  }

  async function work(kind: () => Sent): Promise<void> {
    const own = new Agent({ connections: 1, pipelining: 1, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX });
    while (!stop.signal.aborted) {
      await send(kind(), own);
      await pause(PAUSE_MS);
    }
    await own.close();
  }

  const workers = [feed(), ...kinds.flatMap((kind) => Array.from({ length: WORKERS_OF_A_KIND }, () => work(kind)))];
  return {
    answered: () => answered,
    async stop() {
      stop.abort();
      await Promise.all(workers);
      if (!agent.closed) await agent.close();
      return { requests: answered, failures, fed };
    },
  };
}
