import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { RsaKeys } from '../../test/support/rsa-keys.ts';
import { BANK_IDENTITY, type Certificate } from './environment.ts';
import type { BankMode } from './faults.ts';

const BANK = fileURLToPath(new URL('../../apps/bank/src/main.ts', import.meta.url));
const READY_TIMEOUT_MS = 30_000;
const SLOW_MS_MAX = 5_000;

/** The simulated bank in a process of its own, behind a proxy that speaks TLS and can misbehave. */
export interface CampaignBank {
  /** https, with the certificate of the environment. */
  readonly url: string;
  /** null forwards every request. */
  mode: BankMode | null;
  freeze(): void;
  resume(): void;
  close(): Promise<void>;
}

export interface BankOptions {
  readonly keys: RsaKeys;
  readonly clientSecret: string;
  readonly certificate: Certificate;
}

export async function startBank({ keys, clientSecret, certificate }: BankOptions): Promise<CampaignBank> {
  const child = fork(BANK, {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      BANK_CLIENT_KEY: BANK_IDENTITY.clientKey,
      BANK_CLIENT_SECRET: clientSecret,
      BANK_CLIENT_PUBLIC_KEY: keys.publicKey.export({ type: 'spki', format: 'pem' }),
      BANK_PARTNER_ID: BANK_IDENTITY.partnerId,
      BANK_CHANNEL_ID: BANK_IDENTITY.channelId,
    },
  });
  const exited = once(child, 'exit');
  const [message] = (await once(child, 'message', { signal: AbortSignal.timeout(READY_TIMEOUT_MS) }).catch(
    (error: unknown) => {
      child.kill('SIGKILL');
      throw error;
    },
  )) as [{ readonly baseUrl: string }];
  const proxy = await startProxy(message.baseUrl, certificate);
  return Object.assign(proxy, {
    freeze: () => signal(child, 'SIGSTOP'),
    resume: () => signal(child, 'SIGCONT'),
    async close() {
      await proxy.stop();
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await exited;
    },
  });
}

const signal = (child: ChildProcess, name: NodeJS.Signals): void => void child.kill(name);

async function startProxy(bankUrl: string, { key, cert }: Certificate) {
  const agent = new Agent({ keepAlive: true });
  let lastInquiry: Buffer | null = null;
  const server = createServer({ key, cert }, (request, response) => {
    // A connection that breaks is one of the faults.
    request.on('error', () => {});
    response.on('error', () => {});
    forward(request, response).catch(() => response.destroy());
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket) => proxy.mode === 'closed' && socket.destroy());

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { mode } = proxy;
    if (mode === 'cut' || mode === 'closed') return void response.destroy();
    if (mode === 'server errors') return void response.writeHead(500).end('{"responseCode":"5002400"}');
    if (mode === 'html') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hi</html>');
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { host: _, ...headers } = request.headers;
    httpRequest(bankUrl + request.url, { agent, method: request.method, headers }, resolve)
      .on('error', reject)
      .end(body);
    const reply = await promise;
    const answer = await buffer(reply);
    if (mode === 'slow') await new Promise((done) => setTimeout(done, Math.random() * SLOW_MS_MAX));
    const isInquiry = reply.statusCode === 200 && request.url?.includes('account-inquiry') === true;
    const sent = mode === 'another account' && isInquiry && lastInquiry !== null ? lastInquiry : answer;
    if (isInquiry && mode === null) lastInquiry = answer;
    response.writeHead(reply.statusCode ?? 500, { 'content-type': reply.headers['content-type'] ?? '' }).end(sent);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: null as BankMode | null,
    async stop() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
