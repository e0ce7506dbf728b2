import { Socket } from 'node:net';
import pg from 'pg';
import { parseDatabaseUrl, type SessionAttributes } from './database-url.ts';

/** How to connect, and with which client; see `pg.ClientConfig`. */
export interface PostgresConnection extends pg.ClientConfig {
  /** Finds the server that accepts writes. Absent where there is only one server. */
  readonly Client?: typeof pg.Client;
}

/** The servers of `DATABASE_URL`. @throws Error as `parseDatabaseUrl` does */
export function connectionTo(databaseUrl: string): PostgresConnection {
  const { urls, sessionAttributes } = parseDatabaseUrl(databaseUrl);
  const [first = databaseUrl] = urls;
  if (sessionAttributes === null) return { connectionString: first };
  return { connectionString: first, Client: createPrimaryClient(urls, sessionAttributes) };
}

type Address = Pick<pg.Client, 'host' | 'port'>;

/** No server can be used: none can be reached, or none accepts writes, as during a failover. */
class NoPrimary extends Error {
  /** SQLSTATE: the client cannot establish a connection. */
  readonly code = '08001';
}

/** Time for all servers to say whether they accept writes. They are asked at the same time. */
const PROBE_TIMEOUT_MS = 900;
/** `target_session_attrs` as libpq decides it. */
const UNUSABLE_SQL: Readonly<Record<SessionAttributes, string>> = {
  primary: 'select pg_is_in_recovery() as unusable',
  'read-write': "select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as unusable",
};

/**
 * pg knows one host for each client. This client first goes to the server that accepted writes last, and asks it
 * whether it still does. After a failure, all servers are asked, and the first one that accepts writes is used. So
 * every connection, also the one that listens, follows a failover as it is replaced.
 */
function createPrimaryClient(urls: readonly string[], attributes: SessionAttributes): typeof pg.Client {
  let known: Address | null = null;
  /** Shared by all clients that look for a server at the same time. */
  let finding: Promise<Address> | undefined;

  async function find(): Promise<Address> {
    if (known !== null) return known;
    finding ??= findUsable(urls, attributes).finally(() => {
      finding = undefined;
    });
    known = await finding;
    return known;
  }

  async function connect(client: pg.Client, open: () => Promise<unknown>): Promise<pg.Client> {
    const address = await find().catch((error: unknown) => {
      // It was never connected, and would stay among the open sockets.
      client.connection.stream.destroy();
      throw error;
    });
    client.host = address.host;
    client.port = address.port;
    try {
      await open();
      if (await isUsable(client, attributes)) return client;
      throw new NoPrimary(`PostgreSQL at ${addressOf(client)} no longer accepts writes`);
    } catch (error) {
      // Another client may have found the new one meanwhile.
      if (known === address) known = null;
      client.end().catch(() => {});
      throw error;
    }
  }

  return class PrimaryClient extends pg.Client {
    constructor(...args: ConstructorParameters<typeof pg.Client>) {
      super(...args);
      // Without a listener, losing the connection before its first query would end the process.
      this.on('error', () => {});
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
    override connect(
      callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
    ): Promise<pg.Client> | void {
      const connected = connect(this, () => super.connect());
      if (callback === undefined) return connected;
      const done = callback as (error: Error | null, client?: pg.Client) => void;
      // Out of the promise: an exception of the caller must not look like a rejection here.
      connected.then(
        (client) => process.nextTick(done, null, client),
        (error: unknown) => process.nextTick(done, error),
      );
    }
  };
}

async function isUsable(client: pg.Client, attributes: SessionAttributes): Promise<boolean> {
  const { rows } = await client.query<{ unusable: boolean }>(UNUSABLE_SQL[attributes]);
  return rows[0]?.unusable === false;
}

/** The first server that says it accepts writes. @throws NoPrimary that says of each server why not */
async function findUsable(urls: readonly string[], attributes: SessionAttributes): Promise<Address> {
  try {
    return await Promise.any(urls.map((url) => probe(url, attributes)));
  } catch (error) {
    const reasons = error instanceof AggregateError ? error.errors.map(String) : [String(error)];
    throw new NoPrimary(`no server accepts writes: ${reasons.join('; ')}`, { cause: error });
  }
}

async function probe(connectionString: string, attributes: SessionAttributes): Promise<Address> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString,
    application_name: 'tiba primary',
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
    stream: () => socket,
  });
  client.on('error', () => {});
  const timeout = setTimeout(() => socket.destroy(), PROBE_TIMEOUT_MS);
  try {
    await client.connect();
    if (await isUsable(client, attributes)) return { host: client.host, port: client.port };
  } catch (error) {
    throw reasonOf(client, error);
  } finally {
    clearTimeout(timeout);
    client.end().catch(() => {});
    socket.destroySoon();
  }
  throw reasonOf(client, 'it accepts no writes');
}

const addressOf = ({ host, port }: Address): string => `${host}:${port}`;

function reasonOf(client: pg.Client, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = error instanceof Error ? error.message || code : String(error);
  return new NoPrimary(`${addressOf(client)}: ${message}`, { cause: error });
}
