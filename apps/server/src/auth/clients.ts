import { singleFlight } from '../lib/single-flight.ts';
import { type ClientLimit, type ClientRecord, findAllClients } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import type { LimitedOperation } from '../rate-limit/limiter.ts';
import { isScope, type Scope } from './scopes.ts';

/** A client, in the form that each request needs. */
export interface Client {
  readonly clientId: string;
  readonly secretHash: Buffer;
  readonly scopes: ReadonlySet<Scope>;
  /** Requests per minute of each operation, and different accounts per day. */
  readonly limits: ClientLimits;
  /** A token whose `iat` is earlier is revoked. Seconds since 1970. */
  readonly tokensValidFromSeconds: number;
  readonly disabled: boolean;
  /** The enumeration guard does not restrict it. */
  readonly trusted: boolean;
}

export type ClientLimits = Readonly<Record<LimitedOperation | ClientLimit, number>>;

/** All clients, in memory; notifications of PostgreSQL keep them current. */
export interface Clients {
  find(clientId: string): Client | undefined;
  /** Reads all clients again. */
  reload(): Promise<void>;
}

export function createClients(database: Database, defaultLimits: ClientLimits): Clients {
  let clients = new Map<string, Client>();
  return {
    find: (clientId) => clients.get(clientId),
    reload: singleFlight(async () => {
      const records = await findAllClients(database);
      clients = new Map(records.map((record) => [record.clientId, toClient(record, defaultLimits)]));
    }),
  };
}

const toClient = (record: ClientRecord, defaultLimits: ClientLimits): Client => ({
  clientId: record.clientId,
  secretHash: record.secretHash,
  scopes: new Set(record.scopes.filter(isScope)),
  limits: { ...defaultLimits, ...record.limits },
  // `iat` counts whole seconds: a token issued within the second of the revocation is revoked too.
  tokensValidFromSeconds: Math.ceil(record.tokensValidFromMs / 1000),
  disabled: record.disabled,
  trusted: record.trusted,
});
