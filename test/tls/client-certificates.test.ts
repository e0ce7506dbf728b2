import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { Agent, type Dispatcher, request } from 'undici';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { createAuthority, type IssuedCertificate } from '../rails/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createTlsFiles, type TlsTestFiles } from './files.ts';

/** `TIBA_OPERATOR_TLS_CLIENT_CA_FILE` and `TIBA_METRICS_TOKEN`: who may use the operator listener. */

const METRICS_TOKEN = 'token-of-the-metrics-which-is-long-enough';

let files: TlsTestFiles;
let service: TestService;
let authority: Awaited<ReturnType<typeof createAuthority>>;
before(async () => {
  files = await createTlsFiles();
  authority = await createAuthority();
  const clientCaFile = path.join(files.directory, 'client-ca.pem');
  await writeFile(clientCaFile, authority.certificate);
  service = await startTestService({
    rails: [],
    settings: {
      tlsCertificateFile: files.certificateFile,
      tlsKeyFile: files.keyFile,
      operatorTlsClientCaFile: clientCaFile,
      metricsToken: METRICS_TOKEN,
    },
  });
});
after(async () => {
  await service?.close();
  await files?.remove();
});

interface Sent {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A request to the operator listener with this client certificate. */
async function sendAs(
  { certificate, privateKey }: IssuedCertificate,
  target: string,
  { method = 'GET', headers = {}, body }: Sent = {},
): Promise<{ status: number; text: string }> {
  const dispatcher: Dispatcher = new Agent({ connect: { cert: certificate, key: privateKey } });
  try {
    const options = { dispatcher, method, headers, ...(body === undefined ? {} : { body }) };
    const answer = await request(`${service.operatorUrl}${target}`, options);
    return { status: answer.statusCode, text: await answer.body.text() };
  } finally {
    await dispatcher.close();
  }
}

const LIST = '/operator/v1/overdue';

suite('a client without a certificate of the authority is refused at the handshake', () => {
  test('by OpenSSL, without one', async () => {
    const args = ['s_client', '-connect', new URL(service.operatorUrl).host, '-CAfile', files.authorityFile, '-quiet'];
    const child = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // A handshake of TLS 1.3 ends for the client before the service has seen that there is no certificate.
    child.stdin.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.equal(stdout, '');
    assert.match(stderr, /alert certificate required/);
  });

  test('with one of another authority, and it is counted', async () => {
    await assert.rejects(sendAs(await files.issue('core'), LIST));
    const monitor = await authority.issue('monitor');
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const { text: metrics } = await sendAs(monitor, '/metrics', { headers });
    const counted = /^tiba_tls_handshakes_failed_total\{listener="operator",reason="client_certificate"\} (\d+)$/m;
    assert.equal(counted.exec(metrics)?.[1], '2');
  });

  test('the public listener demands none', async () => {
    assert.equal((await service.get('/api/v1/check-status/NONE')).status, 404);
  });
});

suite('the common name of a certificate names a client', () => {
  const feed = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;
  const body = JSON.stringify(statusUpdate());

  test('which acts with its scopes for this listener, without a token', async () => {
    const core = await authority.issue('core');
    const { status, text: answer } = await sendAs(core, '/feed/v1/transactions', { ...feed, body });
    assert.equal(status, 200, answer);
    assert.equal((await sendAs(core, LIST)).status, 403, 'core has no scope operator:read');
    await service.addClient('ops', ['operator:read']);
    assert.equal((await sendAs(await authority.issue('ops'), LIST)).status, 200);
  });

  test('a token takes precedence, and a name that is no client needs one', async () => {
    const unknown = await authority.issue('no client');
    assert.equal((await sendAs(unknown, LIST)).status, 401);
    const authorization = `Bearer ${service.core.token}`;
    const headers = { ...feed.headers, authorization };
    assert.equal((await sendAs(unknown, '/feed/v1/transactions', { ...feed, headers, body })).status, 200);
    const wrong = { ...feed.headers, authorization: 'Bearer wrong' };
    const core = await authority.issue('core');
    assert.equal((await sendAs(core, '/feed/v1/transactions', { ...feed, headers: wrong, body })).status, 401);
  });

  test('a disabled client is refused within a second, on the same connection too', async () => {
    const core = await authority.issue('core');
    await changeClient(service.app.database, 'core', 'disable');
    await eventually('it is refused', async () => {
      const { status } = await sendAs(core, '/feed/v1/transactions', { ...feed, body });
      return status === 401;
    });
  });
});

suite('/metrics with TIBA_METRICS_TOKEN', () => {
  test('requires it, also of a client with a certificate; /livez and /readyz require none', async () => {
    const monitor = await authority.issue('monitor');
    const ask = (headers: Record<string, string>) => sendAs(monitor, '/metrics', { headers });
    for (const authorization of ['Bearer wrong', METRICS_TOKEN, `Bearer ${METRICS_TOKEN}x`, 'Bearer '])
      assert.equal((await ask({ authorization })).status, 401);
    const { status, text: answer } = await ask({});
    assert.equal(status, 401);
    assert.match(answer, /"error_code":"UNAUTHORIZED"/);
    assert.match(answer, /TIBA_METRICS_TOKEN/);
    const allowed = await ask({ authorization: `Bearer ${METRICS_TOKEN}` });
    assert.equal(allowed.status, 200);
    assert.match(allowed.text, /^tiba_ready 1$/m);
    for (const target of ['/livez', '/readyz']) assert.equal((await sendAs(monitor, target)).status, 200);
  });
});
