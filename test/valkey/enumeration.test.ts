import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { active, NOT_FOUND, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import type { Answer, TestService } from '../support/service.ts';
import { VALKEY_MISSING } from '../support/valkey.ts';
import { type SeveralProcesses, spread, startSeveral } from './several-processes.ts';

const FOUND = active('BUDI SANTOSO');
/** With one process: `account-checks/enumeration`. */
const BLOCKED_AFTER = 200;

/** A client that spreads its checks over processes is restricted as if there were one (docs/operating.md). */
describe('the enumeration guard over several processes', { skip: VALKEY_MISSING }, () => {
  let several: SeveralProcesses;
  let isFound = true;
  before(async () => {
    const rail = scriptedRail('only', () => (isFound ? FOUND : NOT_FOUND));
    several = await startSeveral(4, { rails: [rail], enumerationGuard: { slowedMs: 1 } });
  });
  after(() => several.close());

  let clients = 0;
  async function newClient(
    accountsPerDay = 100_000,
  ): Promise<(service: TestService, account: string) => Promise<Answer>> {
    const clientId = `client-${(clients += 1)}`;
    const tokens = new Map<TestService, string>();
    const limits = { 'check-account': 1_000_000, 'accounts-per-day': accountsPerDay };
    for (const service of several.services)
      tokens.set(service, (await service.addClient(clientId, ['account:check'], limits)).token);
    return (service, account) =>
      service.checkAccount({ bank_code: 'BRI', account_number: account }, { token: tokens.get(service) ?? '' });
  }

  async function checksUntilBlocked(services: readonly TestService[], accountOf: (index: number) => number) {
    const check = await newClient();
    for (let index = 0; index < 500; index += 1) {
      const service = services[index % services.length] as TestService;
      if ((await check(service, String(accountOf(index)))).status === 429) return index;
    }
    return null;
  }

  test('sequential numbers are blocked after as many checks as with one process', async () => {
    const sequential = (index: number): number => 1_000_000_000 + index;
    assert.equal(await checksUntilBlocked(several.services, sequential), BLOCKED_AFTER);
  });

  test('so are accounts that do not exist', async () => {
    isFound = false;
    const distant = (index: number): number => 1_000_000_000 + index * 1_009;
    const checks = (await checksUntilBlocked(several.services, distant)) ?? Number.POSITIVE_INFINITY;
    isFound = true;
    // A verdict is told to the others after the answer.
    assert.ok(checks >= BLOCKED_AFTER && checks <= BLOCKED_AFTER + 4, `blocked after ${checks} checks`);
  });

  test('accounts per day are exact at full speed, and known accounts stay available in each process', async () => {
    const check = await newClient(30);
    const answers = await spread(several.services, { count: 200, inFlight: 32 }, (service, index) =>
      check(service, String(1_000_000_000 + index * 1_009)),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 30);
    assert.equal(answers.filter(({ status }) => status === 429).length, 170);
    const restricted = several.services.flatMap(({ logged }) =>
      logged.filter(
        ({ msg, signal }) => String(msg).startsWith('enumeration guard restricted') && signal === 'accounts_per_day',
      ),
    );
    assert.ok(restricted.length >= 1);
  });
});
