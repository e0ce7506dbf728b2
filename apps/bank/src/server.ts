import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { ACMT_03, ACMT_04 } from './acmt/account-verification.ts';
import { type Bank, type BankProfile, createBank } from './bank.ts';
import { BI_FAST } from './bi-fast/operations.ts';
import { type BankCertificate, loadOrCreateCertificate } from './certificates.ts';
import { type BankResponse, BODY_BYTES_MAX, jsonResponse, readBody } from './http.ts';
import type { BankProfileName, BankSettings } from './settings.ts';
import { findSimulationOperation, isLoopback } from './simulation.ts';
import { SNAP_PROFILES } from './snap/operations.ts';
import { formatJakartaTime } from './time.ts';

export interface RunningBank {
  /** Without a trailing slash, such as `http://127.0.0.1:40123`. */
  readonly baseUrl: string;
  /** The file with the certificate authority of a bank with TLS; null without TLS. */
  readonly authorityFile: string | null;
  /** Stops listening and destroys every socket, including those of requests without a response. */
  close(): Promise<void>;
}

// Longer than a partner's connection pool keeps an idle connection, so that the bank never closes a connection while
// the partner sends a request on it.
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

const BANK_PROFILES: Readonly<Record<BankProfileName, BankProfile>> = {
  ...SNAP_PROFILES,
  'acmt-03': ACMT_03,
  'acmt-04': ACMT_04,
  'bi-fast': BI_FAST,
};

const HEALTH_RESPONSE = jsonResponse(200, { status: 'up' });

/**
 * Starts the simulated bank in this process. `now` gives milliseconds since 1970 (tests replace it). Rejects with a
 * `JournalError` when the journal cannot be used, with a `CertificateError` when its certificate cannot, and with the
 * system's error when it cannot listen.
 */
export async function startBank(settings: BankSettings, now: () => number = Date.now): Promise<RunningBank> {
  const certificate = settings.tls === null ? null : await loadOrCreateCertificate(settings.tls);
  const bank = await createBank(settings, now);
  const server = createListener(certificate, (request, response) => handle(bank, request, response));
  server.listen({ host: settings.host, port: settings.port });
  try {
    await once(server, 'listening');
  } catch (error) {
    await bank.close();
    throw error;
  }
  return {
    baseUrl: baseUrlOf(server, settings),
    authorityFile: certificate?.authorityFile ?? null,
    close: () => close(server, bank),
  };
}

type Listener = Server | TlsServer;

function createListener(
  certificate: BankCertificate | null,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Listener {
  const options = { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
  if (certificate === null) return createServer(options, onRequest);
  return createTlsServer({ ...options, cert: certificate.certificate, key: certificate.privateKey }, onRequest);
}

function handle(bank: Bank, request: IncomingMessage, response: ServerResponse): void {
  const endpoint = request.url ?? '/';
  const queryStart = endpoint.indexOf('?');
  const path = queryStart === -1 ? endpoint : endpoint.slice(0, queryStart);
  if (request.method === 'GET' && path === '/healthz') return send(bank, response, HEALTH_RESPONSE);

  const isPost = request.method === 'POST';
  const simulate = isPost && isLoopback(request.socket.localAddress) ? findSimulationOperation(path) : undefined;
  if (simulate !== undefined) {
    const contentType = request.headers['content-type'] ?? '';
    return readBody(request, BODY_BYTES_MAX, (body) => send(bank, response, simulate(bank, contentType, body)));
  }

  const profile = BANK_PROFILES[bank.settings.profile];
  const operation = isPost ? profile.findOperation(path) : undefined;
  if (operation === undefined) return send(bank, response, profile.unknownRoute);

  readBody(request, BODY_BYTES_MAX, (body) => {
    const result =
      body === null
        ? closingConnection(operation.bodyTooLong)
        : operation.handle(bank, { endpoint, headers: request.headers, body });
    if (result !== 'no-response') send(bank, response, result);
  });
}

/** Closing the connection stops the client from sending the rest of the body. */
const closingConnection = (response: BankResponse): BankResponse => ({
  ...response,
  headers: { ...response.headers, Connection: 'close' },
});

function send(bank: Bank, response: ServerResponse, result: BankResponse): void {
  response.writeHead(result.status, {
    'Content-Type': result.contentType,
    'Content-Length': Buffer.byteLength(result.body),
    'X-TIMESTAMP': formatJakartaTime(bank.now()),
    ...result.headers,
  });
  response.end(result.body);
}

function baseUrlOf(server: Listener, { host, tls }: BankSettings): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The simulated bank is not listening on a TCP port.');
  return `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

async function close(server: Listener, bank: Bank): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await bank.close();
}
