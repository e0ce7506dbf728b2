import { Cluster, Redis, type RedisOptions } from 'iovalkey';
import type { ConnectionEvents, SharedPlace, ValkeyConnection } from './place.ts';

export interface ValkeySettings {
  /** `redis://` or, with TLS, `rediss://`; user and password of the ACL are part of it. */
  readonly url: string;
  /** Whether the server is a node of a cluster. */
  readonly cluster: boolean;
}

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 200;

/** A command that failed is never sent again: it may have been executed, and would count its requests twice. */
const NEVER_REPEAT = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
} as const;

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
