import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { limitExchange } from '../lib/exchange-limit.ts';
import { leadsToSimulatedBank } from './simulated-bank.ts';
import type { BankTransport } from './transport.ts';

/** Connections to one bank. Each carries one request at a time. */
export interface BankConnections {
  /** An idle connection, or a new one. */
  acquire(): Dispatcher;
  /** The request on this connection has ended, with or without a reply. */
  release(connection: Dispatcher): void;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** Everything that arrives in answer to one request; more than the headers and body of any reply that is read. */
const EXCHANGE_BYTES_MAX = 256 * 1024;
const OPTIONS = {
  // SNAP and BI-FAST are HTTP/1.1, and only there can the bytes of an exchange be counted on its connection.
  allowH2: false,
  keepAliveTimeout: 30_000,
  // The request's signal bounds the whole exchange. Timeouts for its parts would only cost time.
  headersTimeout: 0,
  bodyTimeout: 0,
};

export function createBankConnections(origin: string, transport: BankTransport): BankConnections {
  const { clientCertificate: cert, clientPrivateKey: key, authorities: ca, proxyUrl, maySimulate = false } = transport;
  const identity = cert === undefined || key === undefined ? {} : { cert, key };
  const tls = { timeout: CONNECT_TIMEOUT_MS, ...identity, ...(ca === undefined ? {} : { ca }) };
  if (proxyUrl === undefined) {
    const connect = checked(buildConnector({ ...tls, allowH2: false }), maySimulate);
    return directConnections(() => new Client(origin, { ...OPTIONS, connect }));
  }
  // The proxy only ever receives CONNECT. It must not be able to read the traffic, not even in a test without TLS.
  return proxyConnections(
    new ProxyAgent({
      ...OPTIONS,
      uri: proxyUrl,
      requestTls: tls,
      connectTimeout: CONNECT_TIMEOUT_MS,
      proxyTunnel: true,
      factory: (target, options) => new Pool(target, checkedOptions(options, maySimulate)),
    }),
  );
}

const checked =
  (connect: buildConnector.connector, maySimulate: boolean): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      if (!maySimulate && leadsToSimulatedBank(socket)) {
        socket.destroy();
        return callback(new Error('this is the simulated bank, which needs TIBA_STAGING=yes'), null);
      }
      limitExchange(socket, EXCHANGE_BYTES_MAX);
      callback(null, socket);
    });

/** The connector that the agent gives to a pool opens the tunnel and the TLS in it. */
function checkedOptions(options: Pool.Options, maySimulate: boolean): Pool.Options {
  const { connect } = options;
  if (typeof connect !== 'function') throw new Error('the proxy agent gives no connector');
  return { ...options, connect: checked(connect, maySimulate) };
}

/**
 * One connection for each request in flight. The bulkhead of each bank bounds that number; a bound here would let one
 * hanging bank behind a switch take the connections of all others. The connection used last is the first to be used
 * again, so that only as many stay alive as are needed. undici's own pool scans its connections for each request.
 */
function directConnections(connect: () => Client): BankConnections {
  const all: Client[] = [];
  const idle: Dispatcher[] = [];

  function open(): Client {
    const client = connect();
    all.push(client);
    return client;
  }

  return {
    acquire: () => idle.pop() ?? open(),
    release: (connection) => void idle.push(connection),
    close: async () => {
      await Promise.all(all.map((client) => client.destroy()));
    },
  };
}

const proxyConnections = (agent: ProxyAgent): BankConnections => ({
  acquire: () => agent,
  release: () => {},
  close: () => agent.destroy(),
});
