import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, type TestService } from '../support/service.ts';
import { VALKEY_MISSING } from '../support/valkey.ts';
import { TIMEOUT_MS } from './limiter-processes.ts';
import { type SeveralProcesses, spread, startSeveral } from './several-processes.ts';

/** docs/contract.md 8.3, on four instances of the service, each with connections of its own. */
describe('request limits over several processes', { skip: VALKEY_MISSING }, () => {
  let several: SeveralProcesses;
  before(async () => {
    several = await startSeveral(4, {
      settings: { authenticationFailuresPerMinute: 20 },
      valkeyTimeoutMs: TIMEOUT_MS,
    });
  });
  after(() => several.close());

  let clients = 0;
  /** A new client and its token at each of the services. */
  async function newClient(limits: {
    'check-status': number;
    'check-account': number;
  }): Promise<Map<TestService, string>> {
    const clientId = `client-${(clients += 1)}`;
    const tokens = new Map<TestService, string>();
    for (const service of several.services) {
      const { token } = await service.addClient(clientId, ['status:read', 'account:check'], limits);
      tokens.set(service, token);
    }
    return tokens;
  }

  const LIMITS = { 'check-status': 120, 'check-account': 100 };

  for (const count of [2, 4]) {
    test(`${count} processes admit exactly 120 of 1,000 status checks of one client`, async () => {
      const tokens = await newClient(LIMITS);
      const services = several.services.slice(0, count);
      const answers = await spread(services, { count: 1_000 }, (service) =>
        service.get('/api/v1/check-status/TB0000000001', { token: tokens.get(service) ?? '' }),
      );
      assert.equal(admitted(answers), 120);
      assert.deepEqual(
        answers
          .filter(({ status }) => status === 404)
          .map(remainingOf)
          .toSorted((one, other) => one - other),
        Array.from({ length: 120 }, (_each, index) => index),
        'each admitted request is told another remainder',
      );
    });
  }

  test('4 processes admit exactly 100 of 400 account checks of one client', async () => {
    const tokens = await newClient(LIMITS);
    const answers = await spread(several.services, { count: 400 }, (service, index) =>
      service.checkAccount(
        { bank_code: 'BRI', account_number: `10000${index % 20}` },
        { token: tokens.get(service) ?? '' },
      ),
    );
    assert.equal(admitted(answers), 100);
  });

  test('failed authentications of one address are counted together', async () => {
    const answers = await spread(several.services, { count: 60, inFlight: 8 }, (service) =>
      service.get('/api/v1/banks', { token: 'wrong' }),
    );
    assert.equal(answers.filter(({ status }) => status === 401).length, 20);
    assert.equal(answers.filter(({ status }) => status === 429).length, 40);
  });

  test('while Valkey is frozen, each process grants its share; it is exact again soon after', async () => {
    const { services, valkey } = several;
    const tokens = await newClient(LIMITS);
    const one = services[0] as TestService;
    const ask = (service: TestService): Promise<Answer> =>
      service.get('/api/v1/check-status/TB0000000001', { token: tokens.get(service) ?? '' });
    const before = await spread([one], { count: 200 }, ask);
    assert.equal(admitted(before), 120);
    valkey.freeze();
    const during = await spread(services, { count: 400 }, ask);
    assert.equal(admitted(during), 3 * 30, 'one share of each process that had admitted nothing');
    assert.ok(during.every(({ status }) => status === 404 || status === 429));
    const ready = await send(`${one.operatorUrl}/readyz`, {});
    assert.equal(ready.status, 200);
    assert.match(ready.text, /"shared_limits":"Valkey is away/);
    valkey.thaw();
    await eventually('all are back', async () => (await Promise.all(services.map(isExact))).every(Boolean));
    assert.equal(admitted(await spread(services, { count: 100 }, ask)), 0);
    const { text } = await send(`${one.operatorUrl}/metrics`, {});
    assert.match(text, /tiba_limit_decisions_alone_total\{limiter="requests"\} [1-9]/);
    assert.match(text, /tiba_valkey_up 1/);
    const warnings = one.logged.filter(({ msg }) => String(msg).startsWith('valkey is away'));
    assert.equal(warnings.length, 1, 'logged once');
  });
});

const admitted = (answers: readonly Answer[]): number => answers.filter(({ status }) => status !== 429).length;

const remainingOf = ({ headers }: Answer): number => Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1]);

async function isExact({ operatorUrl }: TestService): Promise<boolean> {
  return (await send(`${operatorUrl}/readyz`, {})).text.includes('"shared_limits":"ok"');
}
