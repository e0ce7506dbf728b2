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

/** A bank that lets in only whom the authority vouches for, and answers with the name it knows him by. */
async function startStrictBank(own: IssuedCertificate, authorities: string): Promise<Server> {
  const server = createTlsServer(
    { cert: own.certificate, key: own.privateKey, ca: authorities, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      request.resume();
      response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN);
    },
  );
  // Whoever comes without a certificate is sent away, which the bank takes for an error of its own.
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Proxy {
  readonly server: Server;
  /** What it was told to connect to. */
  readonly connectTargets: (string | undefined)[];
  /** Everything that it carried to the bank. */
  readonly tunneled: Buffer[];
  readonly sockets: Set<Socket>;
}

async function startProxy(): Promise<Proxy> {
  const proxy: Proxy = { server: createServer(), connectTargets: [], tunneled: [], sockets: new Set() };
  proxy.server.on('request', (_request, response) => response.writeHead(405).end());
  proxy.server.on('connect', (request, socket) => {
    proxy.connectTargets.push(request.url);
    const [host = '', port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const each of [socket as Socket, onward]) {
      proxy.sockets.add(each);
      each.on('error', () => {});
      each.once('close', () => [socket, onward].map((other) => other.destroy()));
    }
    socket.on('data', (chunk: Buffer) => {
      proxy.tunneled.push(chunk);
      onward.write(chunk);
    });
    onward.pipe(socket);
  });
  proxy.server.listen(0, '127.0.0.1');
  await once(proxy.server, 'listening');
  return proxy;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe('the way to a bank', () => {
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

  it("leads into a bank that demands a client's certificate, with the operator's", async () => {
    assert.deepEqual(await post(identity()), { status: 200, body: 'Tiba' });
  });

  it('does not lead into it without', async () => {
    await assert.rejects(post({ authorities }), isUnreachable);
  });

  it('does not lead into it with one that another authority vouches for', async () => {
    const stranger = await (await createAuthority()).issue('Tiba');
    const { certificate: clientCertificate, privateKey: clientPrivateKey } = stranger;
    await assert.rejects(post({ clientCertificate, clientPrivateKey, authorities }), isUnreachable);
  });

  it('does not lead to a bank for which no authority vouches that the operator believes', async () => {
    const { certificate: others } = await createAuthority();
    await assert.rejects(post({ ...identity(), authorities: others }), isUnreachable);
    const { clientCertificate, clientPrivateKey } = identity();
    const bare = { clientCertificate: clientCertificate ?? '', clientPrivateKey: clientPrivateKey ?? '' };
    await assert.rejects(post(bare), isUnreachable);
  });

  it('goes through the proxy, which reads nothing of what it carries', async () => {
    const proxyUrl = `http://127.0.0.1:${portOf(proxy.server)}`;
    assert.deepEqual(await post({ ...identity(), proxyUrl }), { status: 200, body: 'Tiba' });
    assert.deepEqual(proxy.connectTargets, [`127.0.0.1:${portOf(bank)}`]);
    const carried = Buffer.concat(proxy.tunneled);
    assert.ok(carried.length > 0);
    assert.ok(!carried.includes('beneficiaryAccountNo'));
  });

  it('does not go around a proxy that is down, that refuses, or that says nothing', async () => {
    const down = await startProxy();
    const proxyUrl = `http://127.0.0.1:${portOf(down.server)}`;
    down.server.close();
    await assert.rejects(post({ ...identity(), proxyUrl }), isUnreachable);

    const refusing = createServer();
    refusing.on('connect', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    refusing.listen(0, '127.0.0.1');
    await once(refusing, 'listening');
    await assert.rejects(post({ ...identity(), proxyUrl: `http://127.0.0.1:${portOf(refusing)}` }), isUnreachable);
    refusing.close();

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
