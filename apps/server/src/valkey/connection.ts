import { createHash } from 'node:crypto';
import { Cluster, Redis, type RedisOptions, ReplyError } from 'iovalkey';

export interface ValkeySettings {
  /** `redis://` or, with TLS, `rediss://`; user and password of the ACL are part of it. */
  readonly url: string;
  /** Whether the server is a node of a cluster. */
  readonly cluster: boolean;
}

/** A connection to Valkey, or to another place that runs the same scripts (workers/parent-link.ts). */
export interface ValkeyConnection {
  /**
   * Runs a script. All keys have the same hash tag. It is sent at most once: it rejects when there is no connection, or
   * when the connection is lost before the reply, and then the script may have run. It has no timeout.
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /**
   * Sends the whole text of the script, so that it runs before all that is sent later. `run` may have to send a script
   * twice when the server does not know it, and other commands run in between.
   */
  runInOrder(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Replaces a connection that does not answer. */
  reconnect(): void;
  close(): void;
}

export interface Script {
  readonly lua: string;
  readonly sha1: string;
}

export const script = (lua: string): Script => ({ lua, sha1: createHash('sha1').update(lua).digest('hex') });

/** Whether Valkey itself refused a script, which therefore was not executed. */
export const isRefusal = (error: unknown): boolean => error instanceof ReplyError;

/** The place does not run this script: each process decides by itself about what the script is for. */
export class UnknownScript extends Error {}

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 200;

/** A command that failed is never sent again: it may have been executed, and would count its requests twice. */
const NEVER_REPEAT = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
} as const;

export interface ConnectionEvents {
  /** Commands can be sent: called for each new connection. */
  onReady(): void;
  onLost(): void;
}

/** Where several processes count. */
export interface SharedPlace {
  /** Whether it is a cluster of Valkey, whose nodes share the keys. */
  readonly cluster: boolean;
  /** Connects in the background. Calls no event before it returns. */
  readonly open: (events: ConnectionEvents) => ValkeyConnection;
}

export const atValkey = (settings: ValkeySettings): SharedPlace => ({
  cluster: settings.cluster,
  open: (events) => openValkey(settings, events),
});

/** Connects in the background, again and again. */
function openValkey({ url, cluster }: ValkeySettings, { onReady, onLost }: ConnectionEvents): ValkeyConnection {
  const client = cluster ? openCluster(url) : openSingle(url);
  client.on('ready', onReady);
  client.on('close', onLost);
  client.on('error', () => {});
  return {
    async run({ lua, sha1 }, keys, args) {
      try {
        return await client.evalsha(sha1, keys.length, ...keys, ...args);
      } catch (error) {
        // Nothing was executed: the script is new to this server.
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return client.eval(lua, keys.length, ...keys, ...args);
      }
    },
    runInOrder: ({ lua }, keys, args) => client.eval(lua, keys.length, ...keys, ...args),
    reconnect: () => client.disconnect(true),
    close: () => client.disconnect(),
  };
}

const openSingle = (url: string): Redis =>
  new Redis(url, {
    ...NEVER_REPEAT,
    connectTimeout: CONNECT_TIMEOUT_MS,
    connectionName: 'tiba',
    retryStrategy: () => RECONNECT_MS,
  });

function openCluster(url: string): Cluster {
  const { hostname, port, username, password, protocol } = new URL(url);
  const redisOptions: RedisOptions = {
    ...NEVER_REPEAT,
    connectTimeout: CONNECT_TIMEOUT_MS,
    connectionName: 'tiba',
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return new Cluster([{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || '6379') }], {
    enableOfflineQueue: false,
    redisOptions,
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    clusterRetryStrategy: () => RECONNECT_MS,
    // Certificates name the hosts, not their addresses.
    dnsLookup: (address, found) => found(null, address),
  });
}
