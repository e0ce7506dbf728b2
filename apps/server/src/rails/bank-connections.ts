import { Client, type Dispatcher, ProxyAgent } from 'undici';
import type { BankTransport } from './transport.ts';

/** Connections to one bank, each for one question at a time. */
export interface BankConnections {
  take(): Dispatcher;
  /** Its question is answered, or given up. */
  giveBack(connection: Dispatcher): void;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 3_000;
const OPTIONS = {
  keepAliveTimeout: 30_000,
  // The signal bounds the whole exchange; timeouts for its parts would only cost.
  headersTimeout: 0,
  bodyTimeout: 0,
};

export function createBankConnections(origin: string, transport: BankTransport): BankConnections {
  const { clientCertificate: cert, clientPrivateKey: key, authorities: ca, proxyUrl } = transport;
  const identity = cert === undefined || key === undefined ? {} : { cert, key };
  const tls = { timeout: CONNECT_TIMEOUT_MS, ...identity, ...(ca === undefined ? {} : { ca }) };
  if (proxyUrl === undefined) return directly(() => new Client(origin, { ...OPTIONS, connect: tls }));
  // The proxy is only ever told to CONNECT: it must not read what it carries, not even in a test without TLS.
  return throughProxy(
    new ProxyAgent({
      ...OPTIONS,
      uri: proxyUrl,
      requestTls: tls,
      connectTimeout: CONNECT_TIMEOUT_MS,
      proxyTunnel: true,
    }),
  );
}

/**
 * As many as there are questions under way, which is bounded for each bank by itself: a bound here would let one bank that
 * hangs behind a switch take the connections of all others. The last one that was used is the first to be used again, so
 * none but the needed ones are kept alive. undici's own pool looks at one after the other for each question.
 */
function directly(connect: () => Client): BankConnections {
  const all: Client[] = [];
  const idle: Dispatcher[] = [];

  function open(): Client {
    const client = connect();
    all.push(client);
    return client;
  }

  return {
    take: () => idle.pop() ?? open(),
    giveBack: (connection) => void idle.push(connection),
    close: async () => {
      await Promise.all(all.map((client) => client.destroy()));
    },
  };
}

const throughProxy = (agent: ProxyAgent): BankConnections => ({
  take: () => agent,
  giveBack: () => {},
  close: () => agent.destroy(),
});
