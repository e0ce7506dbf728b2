import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type BankReply, createBankHttp, NoReply } from '../../apps/server/src/rails/bank-http.ts';
import type { BankTransport } from '../../apps/server/src/rails/transport.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { createAuthority, type IssuedCertificate } from './certificates.ts';

const BODY = '{"beneficiaryAccountNo":"1234567890"}';
const FLOOD_PATH = '/flood';
const LONG_PATH = '/long';
const LONG_LENGTH = 60_000;

/** A bank that accepts only clients with a certificate of the authority, and replies with the client's name. */
async function startStrictBank(own: IssuedCertificate, authorities: string): Promise<Server> {
  const server = createTlsServer(
    { cert: own.certificate, key: own.privateKey, ca: authorities, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      request.resume();
      // Blank lines before a reply are valid HTTP, and are neither headers nor body.
      if (request.url === FLOOD_PATH) request.socket.write('\r\n'.repeat(500_000));
      if (request.url === LONG_PATH) response.write('a'.repeat(LONG_LENGTH));
      response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN);
    },
  );
  // A client without a certificate is rejected, which the server reports as an error of its own.
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Proxy {
  readonly server: Server;
  /** The targets of its CONNECT requests. */
  readonly connectTargets: (string | undefined)[];
  /** Everything that it forwarded to the bank. */
  readonly tunneled: Buffer[];
  readonly sockets: Set<Socket>;
}

async function startProxy(): Promise<Proxy> {
  const proxy: Proxy = { server: createServer(), connectTargets: [], tunneled: [], sockets: new Set() };
  proxy.server.on('request', (_request, response) => response.writeHead(405).end());
  proxy.server.on('connect', (request, socket) => {
    proxy.connectTargets.push(request.url);
    const [host = '', port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const each of [socket as Socket, upstream]) {
      proxy.sockets.add(each);
      each.on('error', () => {});
      each.once('close', () => [socket, upstream].map((other) => other.destroy()));
    }
    socket.on('data', (chunk: Buffer) => {
      proxy.tunneled.push(chunk);
      upstream.write(chunk);
    });
    upstream.pipe(socket);
  });
  proxy.server.listen(0, '127.0.0.1');
  await once(proxy.server, 'listening');
  return proxy;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe('the transport to a bank', () => {
  let authorities: string;
  let client: IssuedCertificate;
  let bank: Server;
  let proxy: Proxy;
  before(async () => {
    const authority = await createAuthority();
    authorities = authority.certificate;
    client = await authority.issue('Tiba');
    bank = await startStrictBank(await authority.issue('bank.example'), authorities);
    proxy = await startProxy();
  });
  after(async () => {
    for (const socket of proxy?.sockets ?? []) socket.destroy();
    for (const server of [bank, proxy?.server]) {
      server?.closeAllConnections();
      server?.close();
    }
  });

  async function post(transport: BankTransport, origin = `https://127.0.0.1:${portOf(bank)}`): Promise<BankReply> {
    const http = createBankHttp(origin, transport);
    try {
      return await http.post('/', { 'content-type': 'application/json' }, BODY, AbortSignal.timeout(4_000));
    } finally {
      await http.close();
    }
  }
  const identity = (): BankTransport => ({
    clientCertificate: client.certificate,
    clientPrivateKey: client.privateKey,
    authorities,
  });
  const isUnreachable = (error: unknown): boolean => error instanceof NoReply && error.reason === 'unreachable';

  it("presents the operator's certificate to a bank that requires one", async () => {
    assert.deepEqual(await post(identity()), { status: 200, body: 'Tiba' });
  });

  it('fails without a client certificate', async () => {
    await assert.rejects(post({ authorities }), isUnreachable);
  });

  it('fails with a client certificate of another authority', async () => {
    const foreign = await (await createAuthority()).issue('Tiba');
    const { certificate: clientCertificate, privateKey: clientPrivateKey } = foreign;
    await assert.rejects(post({ clientCertificate, clientPrivateKey, authorities }), isUnreachable);
  });

  it("fails when no trusted authority issued the bank's certificate", async () => {
    const { certificate: others } = await createAuthority();
    await assert.rejects(post({ ...identity(), authorities: others }), isUnreachable);
    const { clientCertificate, clientPrivateKey } = identity();
    const untrusting = { clientCertificate: clientCertificate ?? '', clientPrivateKey: clientPrivateKey ?? '' };
    await assert.rejects(post(untrusting), isUnreachable);
  });

  it('uses the proxy, which cannot read the traffic', async () => {
    const proxyUrl = `http://127.0.0.1:${portOf(proxy.server)}`;
    assert.deepEqual(await post({ ...identity(), proxyUrl }), { status: 200, body: 'Tiba' });
    assert.deepEqual(proxy.connectTargets, [`127.0.0.1:${portOf(bank)}`]);
    const tunneled = Buffer.concat(proxy.tunneled);
    assert.ok(tunneled.length > 0);
    assert.ok(!tunneled.includes('beneficiaryAccountNo'));
  });

  for (const way of ['directly', 'through a proxy']) {
    const transport = (): BankTransport =>
      way === 'directly' ? identity() : { ...identity(), proxyUrl: `http://127.0.0.1:${portOf(proxy.server)}` };

    it(`cuts off a bank that sends more bytes than a reply may have, ${way}`, async () => {
      const http = createBankHttp(`https://127.0.0.1:${portOf(bank)}`, transport());
      const post = http.post(FLOOD_PATH, {}, BODY, AbortSignal.timeout(4_000));
      await assert.rejects(post, (error) => error instanceof NoReply && error.reason === 'unreadable');
      await http.close();
    });

    it(`counts the bytes of each reply on a connection by themselves, ${way}`, async () => {
      const http = createBankHttp(`https://127.0.0.1:${portOf(bank)}`, transport());
      for (let exchange = 0; exchange < 10; exchange += 1) {
        const { body } = await http.post(LONG_PATH, {}, BODY, AbortSignal.timeout(4_000));
        assert.equal(body, `${'a'.repeat(LONG_LENGTH)}Tiba`);
      }
      await http.close();
    });
  }

  it('does not bypass a proxy that is down, that rejects, or that is silent', async () => {
    const down = await startProxy();
    const proxyUrl = `http://127.0.0.1:${portOf(down.server)}`;
    down.server.close();
    await assert.rejects(post({ ...identity(), proxyUrl }), isUnreachable);

    const rejecting = createServer();
    rejecting.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    rejecting.listen(0, '127.0.0.1');
    await once(rejecting, 'listening');
    await assert.rejects(post({ ...identity(), proxyUrl: `http://127.0.0.1:${portOf(rejecting)}` }), isUnreachable);
    rejecting.close();

    const silent = createServer();
    const held: Socket[] = [];
    silent.on('connect', (_request, socket) => held.push(socket as Socket));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const startedMs = performance.now();
    await assert.rejects(post({ ...identity(), proxyUrl: `http://127.0.0.1:${portOf(silent)}` }), NoReply);
    assert.ok(performance.now() - startedMs < timeLimitMs(5_000));
    for (const socket of held) socket.destroy();
    silent.close();
  });
});
