import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { disconnectSlowReaders } from '../../apps/server/src/http/connections/unread-answers.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { openRawConnection, rawRequest } from '../contract/raw-connection.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createTlsFiles, type TlsTestFiles } from './files.ts';

/** `TIBA_TLS_CERTIFICATE_FILE`: the listeners speak TLS, and all that holds for connections holds over TLS. */

const HANDSHAKE_MS = 5_000;
const CONNECTIONS_PER_ADDRESS = 40;
const DAY_MS = 86_400_000;

let files: TlsTestFiles;
let service: TestService;
before(async () => {
  files = await createTlsFiles();
  service = await startTestService({
    settings: {
      tlsCertificateFile: files.certificateFile,
      tlsKeyFile: files.keyFile,
      snapPort: 0,
      connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
    },
    slowPeers: { requestMs: HANDSHAKE_MS },
    certificateIntervalMs: 150,
  });
});
after(async () => {
  await service?.close();
  await files?.remove();
});

const portOf = (url: string): number => Number(new URL(url).port);

/** What OpenSSL's own client says about a handshake. */
async function opensslSays(url: string, ...args: string[]): Promise<string> {
  const command = ['s_client', '-connect', `127.0.0.1:${portOf(url)}`, '-CAfile', files.authorityFile, ...args];
  const child = spawn('openssl', command, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return stdout + stderr;
}

suite('a handshake by OpenSSL', () => {
  test('is TLS 1.3 on each listener, with a certificate that OpenSSL verifies', async () => {
    const urls = [service.url, service.operatorUrl, service.app.snapUrl ?? ''];
    for (const url of urls) {
      assert.match(url, /^https:/);
      const output = await opensslSays(url, '-verify_return_error');
      assert.match(output, /New, TLSv1\.3, Cipher is TLS_AES_/);
      assert.match(output, /Verify return code: 0 \(ok\)/);
    }
  });

  test('of TLS 1.2 is refused by default, and counted', async () => {
    const output = await opensslSays(service.url, '-tls1_2');
    assert.match(output, /alert protocol version/);
    assert.match(output, /New, \(NONE\), Cipher is \(NONE\)/);
    assert.ok((await failedHandshakes('public', 'version')) >= 1);
  });
});

async function metric(pattern: RegExp): Promise<number> {
  const { text: metrics } = await send(`${service.operatorUrl}/metrics`, {});
  return Number(pattern.exec(metrics)?.[1] ?? 0);
}

const failedHandshakes = (listener: string, reason: string): Promise<number> =>
  metric(new RegExp(`^tiba_tls_handshakes_failed_total\\{listener="${listener}",reason="${reason}"\\} (\\d+)`, 'm'));

test('plain HTTP to a listener that speaks TLS: the connection is closed, and other requests are answered', async () => {
  const connection = await openRawConnection(service.url.replace('https', 'http'));
  connection.send(rawRequest('GET', '/api/v1/banks'));
  assert.equal(await connection.read().catch(() => null), null);
  await connection.closed;
  assertError(await service.get('/api/v1/check-status/NONE'), 'TRANSACTION_NOT_FOUND');
});

suite('what holds for connections holds over TLS', () => {
  test('a handshake that does not come to its end is closed', async () => {
    const failed = await failedHandshakes('public', 'timeout');
    const socket = connect(portOf(service.url), '127.0.0.1');
    socket.resume();
    await once(socket, 'close');
    await eventually('it is counted', async () => (await failedHandshakes('public', 'timeout')) === failed + 1);
  });

  test('a client that pipelines 200 requests is answered in order', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `TB${String(index).padStart(10, '0')}`);
    await service.feed(ids.map((id) => statusUpdate({ transaction_id: id, reference_id: id })));
    const headers = { authorization: `Bearer ${service.alpha.token}` };
    const connection = await openRawConnection(service.url);
    try {
      const order = Array.from({ length: 200 }, (_, index) => ids[index % ids.length] as string);
      connection.send(Buffer.concat(order.map((id) => rawRequest('GET', `/api/v1/check-status/${id}`, { headers }))));
      for (const id of order) assert.equal(assertSuccess((await connection.read()) as Answer)['transaction_id'], id);
    } finally {
      connection.end();
    }
  });

  test('a connection has few requests unanswered, however many it pipelines', async () => {
    const route = '/api/v1/banks';
    const answered = (): Promise<number> =>
      metric(new RegExp(`^tiba_http_requests_total\\{route="${route}",status="401"\\} (\\d+)`, 'm'));
    const waited = { transaction_id: 'TB9999999999', reference_id: 'waited' };
    await service.feed(statusUpdate(waited));
    const count = await answered();
    const connection = await openRawConnection(service.url);
    try {
      const headers = { authorization: `Bearer ${service.alpha.token}`, prefer: 'wait=30' };
      const waits = rawRequest('GET', '/api/v1/check-status/TB9999999999', { headers });
      // More than one TLS record, so that more than one chunk arrives after the parser was stopped.
      const others = Array.from({ length: 1_000 }, () => rawRequest('GET', route));
      connection.send(Buffer.concat([waits, ...others]));
      await eventually('the first request waits', () => service.app.longPollCount() > 0);
      assert.ok((await answered()) - count <= 2, 'more were read and answered');
      await service.feed(statusUpdate({ ...waited, status: 'SUCCESS' }));
      assertSuccess((await connection.read()) as Answer);
      for (const _ of others) assertError((await connection.read()) as Answer, 'UNAUTHORIZED');
    } finally {
      connection.end();
    }
  });

  test('connections of one address are limited from the moment when they are accepted', async () => {
    const open = Array.from({ length: CONNECTIONS_PER_ADDRESS + 5 }, () =>
      connect(portOf(service.operatorUrl), '127.0.0.1'),
    );
    let closed = 0;
    for (const socket of open)
      socket
        .on('error', () => {})
        .on('close', () => (closed += 1))
        .resume();
    await eventually('those beyond the limit are closed', () => closed >= 5);
    for (const socket of open) socket.destroy();
    await eventually('their places are free', async () =>
      send(`${service.operatorUrl}/livez`, { headers: { connection: 'close' } }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    assert.ok(
      (await metric(/^tiba_connections_refused_total\{listener="operator",reason="per_address"\} (\d+)/m)) >= 5,
    );
  });
});

/** A client counts as one that reads for as long as the kernel takes bytes for it: it is watched from then on. */
test('a client over TLS that does not read an answer is disconnected', async () => {
  const { certificate, privateKey } = await files.issue('unread');
  const server = createServer({ cert: certificate, key: privateKey }, (_request, response) => {
    const write = (): void => void response.write(Buffer.alloc(4_096), (error) => error ?? write());
    write();
  });
  const watching = createServer();
  watching.removeAllListeners('secureConnection');
  disconnectSlowReaders(watching, 100);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'secureConnection');
  const client = connectTls({ port, host: '127.0.0.1' }).on('error', () => {});
  try {
    await once(client, 'secureConnect');
    client.pause();
    client.write(rawRequest('GET', '/'));
    const [socket] = (await accepted) as [TLSSocket];
    let written = -1;
    let unchanged = 0;
    await eventually('the kernel takes no more', () => {
      unchanged = socket.bytesWritten === written && socket.writableLength > 0 ? unchanged + 1 : 0;
      written = socket.bytesWritten;
      return unchanged > 20;
    });
    watching.emit('secureConnection', socket);
    await once(socket, 'close');
  } finally {
    client.destroy();
    server.close();
    watching.emit('close');
  }
});

const presentedBy = async (url: string): Promise<string> => {
  const socket = connectTls({ port: portOf(url), host: '127.0.0.1' });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject['CN']);
};

const logged = (message: string): Record<string, unknown>[] =>
  service.logged.filter(({ msg }) => String(msg).startsWith(message));

suite('when the files of the certificate change', () => {
  test('under load, new connections get the new one and no request fails', async () => {
    const ended = new AbortController();
    let answers = 0;
    const failures: unknown[] = [];
    const load = async (headers: Record<string, string>): Promise<void> => {
      while (!ended.signal.aborted)
        await service.get('/api/v1/check-status/NONE', { headers }).then(
          ({ status }) => (status === 404 ? (answers += 1) : failures.push(status)),
          (error: unknown) => failures.push(error),
        );
    };
    const running = [{}, {}, { connection: 'close' }, { connection: 'close' }].map((headers) => load(headers));
    for (const name of ['second', 'third', 'fourth']) {
      const since = answers;
      await files.replace(await files.issue(name));
      await eventually(`the ${name} certificate is presented`, async () => (await presentedBy(service.url)) === name);
      await eventually('requests go on', () => answers > since + 20);
    }
    ended.abort();
    await Promise.all(running);
    assert.deepEqual(failures, []);
    for (const url of [service.operatorUrl, service.app.snapUrl ?? ''])
      await eventually('every listener has it', async () => (await presentedBy(url)) === 'fourth');
    assert.equal(logged('the new certificate is refused').length, 0, 'a half of a renewal is not reported');
  });

  test('a broken file and a key of another certificate are refused with the reason, and the old one stays', async () => {
    const good = await files.issue('fifth');
    const [one, two, three, other] = await Promise.all(
      ['one', 'two', 'three', 'other'].map((name) => files.issue(name)),
    );
    assert.ok(one !== undefined && two !== undefined && three !== undefined && other !== undefined);
    for (const [broken, reason] of [
      [{ ...one, certificate: 'not a certificate' }, /TIBA_TLS_CERTIFICATE_FILE must name a file with a certificate/],
      [{ ...two, privateKey: 'not a key' }, /TIBA_TLS_KEY_FILE must name a file with a private key/],
      [{ ...three, privateKey: other.privateKey }, /TIBA_TLS_KEY_FILE must name the key of the/],
      [await files.issue('expired', new Date(Date.now() - DAY_MS)), /it expired at/],
    ] as const) {
      const before = logged('the new certificate is refused').length;
      await files.replace(broken);
      const refused = () => logged('the new certificate is refused').slice(before);
      await eventually('each listener refuses it', () => refused().length >= 3);
      for (const { fault, level } of refused()) {
        assert.match(String(fault), reason);
        assert.equal(level, 50);
      }
      assert.equal(refused().length, 3, 'it is reported once');
      assert.equal(await presentedBy(service.url), 'fourth');
    }
    await files.replace(good);
    await eventually('a good one is presented again', async () => (await presentedBy(service.url)) === 'fifth');
  });

  test('one that is not valid yet waits until it is', async () => {
    const waiting = () => logged('the new certificate is not valid yet').length;
    const validFrom = new Date(Math.ceil(Date.now() / 1000) * 1000 + 1_000);
    await files.replace(await files.issue('later', new Date(Date.now() + 90 * DAY_MS), validFrom));
    await eventually('each listener waits', () => waiting() === 3);
    assert.equal(await presentedBy(service.url), 'fifth');
    await eventually('it is presented when it is valid', async () => (await presentedBy(service.url)) === 'later');
    assert.ok(Date.now() >= validFrom.getTime());
    assert.equal(waiting(), 3, 'it is reported once');
  });

  test('one that expires within 14 days is a warning, and its expiry is a metric', async () => {
    const expiresAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 13 * DAY_MS);
    assert.equal(logged('the certificate expires soon').length, 0);
    await files.replace(await files.issue('short', expiresAt));
    await eventually('each listener warns', () => logged('the certificate expires soon').length === 3);
    for (const listener of ['public', 'operator', 'snap'])
      assert.equal(
        await metric(
          new RegExp(`^tiba_tls_certificate_expiry_timestamp_seconds\\{listener="${listener}"\\} (\\d+)`, 'm'),
        ),
        expiresAt.getTime() / 1000,
      );
  });
});

test('TLS 1.2 where an operator must: with forward secrecy only', async () => {
  const old = await startTestService({
    database: service.database,
    rails: [],
    settings: { tlsCertificateFile: files.certificateFile, tlsKeyFile: files.keyFile, tlsMinVersion: 'TLSv1.2' },
  });
  try {
    assert.match(await opensslSays(old.url, '-tls1_2'), /New, TLSv1\.2, Cipher is ECDHE-ECDSA-AES\d+-GCM/);
    assert.match(await opensslSays(old.url), /New, TLSv1\.3/);
    assert.match(await opensslSays(old.url, '-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0'), /alert protocol version/);
    assert.match(await opensslSays(old.url, '-tls1_2', '-cipher', 'ECDHE-ECDSA-AES128-SHA'), /handshake failure/);
  } finally {
    await old.close();
  }
});
