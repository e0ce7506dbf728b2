import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { findLastingPort } from '../../campaign/random/ports.ts';
import { eventually } from '../support/eventually.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService } from '../support/service.ts';
import { type ProcessPorts, startHaproxy } from './haproxy.ts';
import { startNginx } from './nginx.ts';
import type { RunningProxy } from './running-proxy.ts';

/** What the proxies with the configurations in deploy/ answer themselves, what they leave to Tiba, what they log. */

const ACCOUNT_NUMBER = '8801234567';
const CHECK_PATH = '/api/v1/check-account?account_number=';
/** Both listeners are behind the proxy. */
const TRUSTED = { trustedProxies: ['127.0.0.1'], operatorTrustedProxies: ['127.0.0.1'] };
/** The operations whose bodies nginx keeps, to send them to another process. */
const BUFFERED = ['/api/v1/check-account', '/api/v1/check-status/batch', '/oauth/token'];

suite('nginx', { skip: commandIsMissing('nginx') }, () => {
  test('bounds what it keeps of a request before a login, and leaves smaller bodies to Tiba', async (context) => {
    const ports = await choosePorts();
    const settings = { ...ports, ...TRUSTED, stopDelaySeconds: 1 };
    const service = await startTestService({ rails: [], settings });
    context.after(() => service.close());
    const { url, coreUrl } = await start(context, startNginx, ports);
    for (const operation of BUFFERED) {
      const tooLarge = await answerOf(url + operation, 'a'.repeat(1024 * 1024 + 1));
      assertEnveloped(tooLarge, { status: 413, errorCode: 'PAYLOAD_TOO_LARGE', message: /at most 1 MiB/ });
      const { status, text } = await answerOf(url + operation, 'a'.repeat(512 * 1024));
      assert.ok(status >= 400 && status < 500, `${operation}: ${status}`);
      assert.doesNotMatch(text, /at most 1 MiB|<html>/);
    }
    // The server of the core has the same pages, and Tiba's own answers pass through.
    const closing = service.app.close();
    const { status, text } = await answerOf(`${coreUrl}/readyz`);
    assert.equal(status, 503);
    assert.doesNotMatch(text, /no process of this service/);
    await closing;
  });

  test('answers with the envelope when no process does, and its log has no account number', async (context) => {
    const { url, coreUrl, directory } = await start(context, startNginx, await choosePorts());
    for (const base of [url, coreUrl]) assertUnavailable(await answerOf(`${base}${CHECK_PATH}${ACCOUNT_NUMBER}`));
    const log = (name: string): Promise<string> => readFile(path.join(directory, name), 'utf8');
    await eventually('the request is in the access log', async () =>
      (await log('access.log')).includes('/api/v1/check-account 503'),
    );
    for (const name of ['access.log', 'error.log']) assert.ok(!(await log(name)).includes(ACCOUNT_NUMBER), name);
  });
});

/** Regression: the HAProxy of deploy/ passed on the X-Forwarded-For of those who call the operator listener. */
suite('a caller cannot choose the address that Tiba counts and records, on either listener', () => {
  test('behind nginx', { skip: commandIsMissing('nginx') }, (context) => assertAddressIsNotChosen(context, startNginx));
  test('behind HAProxy', { skip: commandIsMissing('haproxy') }, (context) =>
    assertAddressIsNotChosen(context, (processes) => startHaproxy({ processes })),
  );
});

async function assertAddressIsNotChosen(
  context: TestContext,
  startBalancer: (processes: readonly ProcessPorts[]) => Promise<RunningProxy>,
): Promise<void> {
  const ports = await choosePorts();
  const settings = { ...ports, ...TRUSTED, authenticationFailuresPerMinute: 1 };
  const service = await startTestService({ rails: [], settings });
  context.after(() => service.close());
  const proxy = await start(context, startBalancer, ports);
  const statusOf = async (base: string, clientId: string, address: string): Promise<number> => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: 'wrong' });
    const headers = { 'x-forwarded-for': address };
    return (await fetch(`${base}/oauth/token`, { method: 'POST', headers, body })).status;
  };
  for (const [base, clientId] of [
    [proxy.url, 'alpha'],
    [proxy.coreUrl, 'beta'],
  ] as const) {
    await eventually(`${base} leads to the service`, async () => (await statusOf(base, clientId, '192.0.2.1')) !== 503);
    assert.equal(await statusOf(base, clientId, '192.0.2.2'), 429);
  }
}

test('HAProxy answers with the envelope when no process is ready', { skip: commandIsMissing('haproxy') }, async (t) => {
  const { url, coreUrl } = await start(t, (processes) => startHaproxy({ processes }), await choosePorts());
  for (const base of [url, coreUrl]) assertUnavailable(await answerOf(`${base}${CHECK_PATH}${ACCOUNT_NUMBER}`));
});

async function start<Proxy extends { stop(): Promise<void> }>(
  context: TestContext,
  startBalancer: (processes: readonly ProcessPorts[]) => Promise<Proxy>,
  ports: ProcessPorts,
): Promise<Proxy> {
  const proxy = await startBalancer([ports]);
  context.after(() => proxy.stop());
  return proxy;
}

const choosePorts = async (): Promise<ProcessPorts> => ({
  port: await findLastingPort(),
  operatorPort: await findLastingPort(),
});

interface ProxyAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function answerOf(url: string, body?: string): Promise<ProxyAnswer> {
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** docs/contract.md 2.1 */
function assertEnveloped(
  { status, headers, text }: ProxyAnswer,
  expected: { readonly status: number; readonly errorCode: string; readonly message: RegExp },
): void {
  assert.equal(status, expected.status, text);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.match(headers.get('x-request-id') ?? '', /^[\w-]{32,36}$/);
  const { message, ...rest } = JSON.parse(text) as { readonly message: string };
  assert.deepEqual(rest, { success: false, error_code: expected.errorCode });
  assert.match(message, expected.message);
}

function assertUnavailable(answer: ProxyAnswer): void {
  assertEnveloped(answer, { status: 503, errorCode: 'SERVICE_UNAVAILABLE', message: /^Temporarily unavailable: no / });
  assert.equal(answer.headers.get('retry-after'), '2');
}
