import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send } from '../support/requests.ts';
import type { KillableService } from './killable-service.ts';
import { dataOf, type ListedEvent, readListedEvents } from './received-callbacks.ts';

/** A client that calls the service across kills. A request that is in flight at a kill rejects. */
export interface Caller {
  readonly clientId: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The same on the operator listener. */
  feed(updates: readonly unknown[]): Promise<Answer>;
}

const LOGIN_TIMEOUT_MS = 10_000;
const TRIES_MAX = 10;
const RETRY_MS = 50;

/** Creates a client of the API, or of the feed. */
export async function createCaller(
  service: KillableService,
  database: Database,
  clientId: string,
  scopes: readonly Scope[],
): Promise<Caller> {
  const secret = randomBytes(32).toString('base64url');
  await insertClient(database, { clientId, name: clientId, secretHash: hashSecret(secret), scopes });
  let token = '';
  let issuedBy = 0;

  async function login(): Promise<void> {
    const starts = service.starts();
    if (issuedBy === starts) return;
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret });
    // The service may not have loaded the new client yet.
    await eventually(
      `${clientId} obtains a token`,
      async () => {
        const answer = await send(`${service.address().publicUrl}/oauth/token`, { method: 'POST', body });
        if (answer.status !== 200) return false;
        token = (JSON.parse(answer.text) as { access_token: string }).access_token;
        issuedBy = starts;
        return true;
      },
      LOGIN_TIMEOUT_MS,
    );
  }

  async function request(url: () => string, method: string, body?: unknown): Promise<Answer> {
    await login();
    return send(url(), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  // A successful login shows that the service has loaded the client, so it accepts updates of its transactions.
  await login();
  /** Retries a GET that is answered 503: on a busy machine PostgreSQL may be too slow once. */
  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await request(() => service.address().publicUrl + path, method, body);
      if (answer.status !== 503 || method !== 'GET' || tries === TRIES_MAX) return answer;
      await delay(RETRY_MS);
    }
  }

  return {
    clientId,
    call,
    feed: (updates) => request(() => `${service.address().operatorUrl}/feed/v1/transactions`, 'POST', updates),
  };
}

export interface ReadStatus {
  /** JSON text, byte for byte. */
  readonly data: string;
  readonly version: number;
}

/** Checks a status as a client does. The ETag is the version. */
export async function readStatus(caller: Caller, transactionId: string): Promise<ReadStatus> {
  const answer = await caller.call('GET', `/api/v1/check-status/${transactionId}`);
  assert.equal(answer.status, 200, answer.text);
  const tag = answer.headers.get('etag') ?? '';
  assert.match(tag, /^"[1-9]\d*"$/, 'the entity tag is the version');
  return { data: dataOf(answer.text), version: Number(tag.slice(1, -1)) };
}

/** All events of the client. */
export async function readEvents(caller: Caller): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  for (let after = 0, more = true; more; ) {
    const answer = await caller.call('GET', `/api/v1/events?after=${after}&limit=1000`);
    assert.equal(answer.status, 200, answer.text);
    events.push(...readListedEvents(answer.text));
    after = Number(answer.json.data?.['next_after']);
    more = answer.json.data?.['has_more'] === true;
  }
  return events;
}

export interface ListedDelivery {
  readonly delivery_id: string;
  readonly endpoint_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly state: 'pending' | 'delivered' | 'exhausted';
  readonly attempt_count: number;
}

/** All deliveries of an endpoint, in the order of the events. */
export async function readDeliveries(caller: Caller, endpointId: string): Promise<ListedDelivery[]> {
  const deliveries: ListedDelivery[] = [];
  for (let after = ''; ; ) {
    const answer = await caller.call('GET', `/api/v1/callback-deliveries?endpoint_id=${endpointId}&limit=1000${after}`);
    assert.equal(answer.status, 200, answer.text);
    const page = answer.json.data as { deliveries: ListedDelivery[]; next_after: string | null };
    deliveries.push(...page.deliveries);
    if (page.next_after === null) return deliveries.toReversed();
    after = `&after=${page.next_after}`;
  }
}
