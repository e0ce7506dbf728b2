import { singleFlight } from '../lib/single-flight.ts';
import { type ClientLimit, type ClientRecord, findAllClients } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import { findAllSnapClients, type SnapClientRecord } from '../postgres/snap-clients.ts';
import type { LimitedOperation } from '../rate-limit/limiter.ts';
import { isScope, type Scope } from './scopes.ts';

/** A client, in the form that each request needs. */
export interface Client {
  readonly clientId: string;
  readonly secretHash: Buffer;
  /** Of the new secret, while the secret is being replaced; otherwise null. */
  readonly secondSecretHash: Buffer | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Requests per minute of each operation, and different accounts per day. */
  readonly limits: ClientLimits;
  /** A token whose `iat` is earlier is revoked. Seconds since 1970. */
  readonly tokensValidFromSeconds: number;
  readonly disabled: boolean;
  /** The enumeration guard does not restrict it. */
  readonly trusted: boolean;
  /** How it uses the SNAP listener; null if it may not. */
  readonly snap: SnapClientRecord | null;
}

export type ClientLimits = Readonly<Record<LimitedOperation | ClientLimit, number>>;

/** All clients, in memory; notifications of PostgreSQL keep them current. */
export interface Clients {
  find(clientId: string): Client | undefined;
  /** By the X-PARTNER-ID of its SNAP requests. */
  findByPartnerId(partnerId: string): Client | undefined;
  /** Reads all clients again. */
  reload(): Promise<void>;
}

export function createClients(database: Database, defaultLimits: ClientLimits): Clients {
  let clients = new Map<string, Client>();
  let byPartnerId = new Map<string, Client>();
  return {
    find: (clientId) => clients.get(clientId),
    findByPartnerId: (partnerId) => byPartnerId.get(partnerId),
    reload: singleFlight(async () => {
      const [records, snapRecords] = await Promise.all([findAllClients(database), findAllSnapClients(database)]);
      const snapClients = new Map(snapRecords.map((record) => [record.clientId, record]));
      const all = records.map((record) => toClient(record, snapClients.get(record.clientId) ?? null, defaultLimits));
      clients = new Map(all.map((client) => [client.clientId, client]));
      byPartnerId = new Map(all.flatMap((client) => (client.snap === null ? [] : [[client.snap.partnerId, client]])));
    }),
  };
}

const toClient = (record: ClientRecord, snap: SnapClientRecord | null, defaultLimits: ClientLimits): Client => ({
  clientId: record.clientId,
  secretHash: record.secretHash,
  secondSecretHash: record.secondSecretHash,
  scopes: new Set(record.scopes.filter(isScope)),
  limits: { ...defaultLimits, ...record.limits },
  // `iat` counts whole seconds: a token issued within the second of the revocation is revoked too.
  tokensValidFromSeconds: Math.ceil(record.tokensValidFromMs / 1000),
  disabled: record.disabled,
  trusted: record.trusted,
  snap,
});
