import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ResolvedAddress } from '../../apps/server/src/outbound/name-resolution.ts';
import { assertError } from '../contract/assertions.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { call, dataOf, ENDPOINTS, register } from './endpoints-harness.ts';

const PRIVATE = '10.0.0.1';
const names = new Map<string, readonly ResolvedAddress[] | 'silent'>([
  ['database.corp.example', [{ address: PRIVATE, family: 4 }]],
  [
    'mixed.corp.example',
    [
      { address: '93.184.215.14', family: 4 },
      { address: PRIVATE, family: 4 },
    ],
  ],
  ['silent.corp.example', 'silent'],
]);

let service: TestService;
before(async () => {
  service = await startTestService({
    rails: [],
    resolveName: (name) => {
      const found = names.get(name);
      if (found === 'silent') return new Promise(() => undefined);
      return found === undefined ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(found);
    },
  });
});
after(() => service?.close());

/** What a client can learn from an answer, without the name that it sent. */
async function answerAbout(host: string, method: string, path: string): Promise<{ text: string; tookMs: number }> {
  const startedMs = performance.now();
  const answer = await call(service, method, path, { body: { url: `https://${host}/` } });
  assertError(answer, 'INVALID_REQUEST', /must resolve to public addresses only/);
  return { text: answer.text.replaceAll(host, 'NAME'), tookMs: performance.now() - startedMs };
}

const HOSTS = ['database.corp.example', 'mixed.corp.example', 'silent.corp.example', 'missing.corp.example'];

// Regression: "private address" and "cannot be resolved" were two messages, the one at once and the other after the
// resolver's timeout: an oracle for the names inside the operator's network.
test('a client cannot learn from the registration of a callback URL whether an internal name exists', async () => {
  const { endpointId } = await register(service);
  const requests = [
    ['POST', ENDPOINTS],
    ['PATCH', `${ENDPOINTS}/${endpointId}`],
  ] as const;
  await Promise.all(
    requests.map(async ([method, path]) => {
      const answers = await Promise.all(HOSTS.map((host) => answerAbout(host, method, path)));
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1, answers.map(({ text }) => text).join('\n'));
      const times = answers.map(({ tookMs }) => tookMs);
      const spreadMs = Math.max(...times) - Math.min(...times);
      assert.ok(spreadMs < timeLimitMs(200), `they differ by ${spreadMs} ms`);
    }),
  );
});

test('the log says why a name was not accepted, and not which', async () => {
  const before = service.logged.length;
  const hosts = ['database.corp.example', 'mixed.corp.example', 'missing.corp.example'];
  await Promise.all(hosts.map((host) => answerAbout(host, 'POST', ENDPOINTS)));
  const lines = service.logged.slice(before);
  const reasons = lines.map((line) => line['callbackHost']).filter((reason) => reason !== undefined);
  const times = (reason: string): number => reasons.filter((each) => each === reason).length;
  assert.deepEqual([times('blocked'), times('unresolved'), reasons.length], [2, 1, 3]);
  assert.ok(!JSON.stringify(service.logged).includes('corp.example'));
});

test('a client cannot learn it from an attempt either, after the name has changed', async () => {
  const errors = new Set<string>();
  for (const host of ['database.corp.example', 'missing.corp.example']) {
    const moving = `moving-${host}`;
    names.set(moving, [{ address: '93.184.215.14', family: 4 }]);
    const { endpointId } = await register(service, { url: `https://${moving}/` });
    const now = names.get(host);
    if (now === undefined) names.delete(moving);
    else names.set(moving, now);
    const tested = dataOf(await call(service, 'POST', `${ENDPOINTS}/${endpointId}/test`));
    assert.equal(tested['succeeded'], false);
    errors.add(String(tested['error']).replaceAll(moving, 'NAME'));
  }
  assert.deepEqual([...errors], ['The name NAME does not resolve to public addresses only']);
});
