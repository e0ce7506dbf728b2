import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClientGuard } from '../../apps/server/src/account-checks/enumeration/client-guard.ts';
import { type ClientReplica, createClientReplica } from '../../apps/server/src/account-checks/enumeration/replica.ts';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { createSharedLog } from '../../apps/server/src/valkey/shared-log.ts';
import { openSharedWindows, type SharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { active, NOT_FOUND, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer, TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { startTestValkey, type TestValkey, VALKEY_MISSING } from '../support/valkey.ts';
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

describe('the log of account checks', { skip: VALKEY_MISSING }, () => {
  let valkey: TestValkey;
  before(async () => {
    valkey = await startTestValkey();
  });
  after(() => valkey.stop());

  test('holds an entry once whose reply did not come in time', async (t) => {
    const one = await openReplica(t, valkey, 'timeout', 50);
    const two = await openReplica(t, valkey, 'timeout');
    valkey.freeze();
    try {
      one.replica.recordVerdict(true);
      await eventually('one notices', () => !one.windows.isPresent());
    } finally {
      valkey.thaw();
    }
    await eventually('both are back', () => one.windows.isPresent() && two.windows.isPresent());
    await one.check();
    await two.check();
    assert.equal(two.verdicts(), 1);
    assert.equal(one.verdicts(), 1, 'one does not count its own again');
  });

  test('is read from the start when it begins again, because Valkey has lost its data', async (t) => {
    const one = await openReplica(t, valkey, 'lost');
    const two = await openReplica(t, valkey, 'lost');
    for (let count = 0; count < 3; count += 1) await one.check();
    for (const key of await logKeys('lost')) await valkey.command('DEL', key);
    two.replica.recordVerdict(true);
    await two.check();
    await Promise.all([one.check(), one.check()]);
    assert.equal(one.verdicts(), 1);
    assert.equal(one.accounts(), 6);
  });

  test("is read from the start on a new day, also when a reply of yesterday's comes late", async (t) => {
    const one = await openReplica(t, valkey, 'midnight');
    const two = await openReplica(t, valkey, 'midnight');
    for (let count = 0; count < 3; count += 1) await one.check();
    two.nextDay();
    for (let count = 0; count < 5; count += 1) two.replica.recordVerdict(true);
    await two.check();
    const late = one.check();
    one.nextDay();
    await Promise.all([late, one.check()]);
    assert.equal(one.verdicts(), 5);
  });

  const logKeys = async (clientId: string): Promise<string[]> =>
    (await valkey.command('KEYS', `tiba:*log ${clientId} *`)) as string[];
});

/** What one process has for a client. */
interface TestReplica {
  readonly replica: ClientReplica;
  readonly windows: SharedWindows;
  /** Checks an account that no other process checks. */
  readonly check: () => Promise<unknown>;
  readonly accounts: () => number;
  readonly verdicts: () => number;
  readonly nextDay: () => void;
}

interface Cleanup {
  after(action: () => unknown): void;
}

let accounts = 0;
const DAY_MS = 24 * 60 * 60 * 1_000;

async function openReplica(
  t: Cleanup,
  { url }: TestValkey,
  clientId: string,
  timeoutMs = timeLimitMs(1_000),
): Promise<TestReplica> {
  const windows = openSharedWindows({ ...atValkey({ url, cluster: false }), timeoutMs, onChange: () => {} });
  t.after(windows.close);
  await eventually('valkey is present', windows.isPresent);
  let wallMs = Date.parse('2026-03-02T12:00:00+07:00');
  let verdicts = 0;
  const guard = createClientGuard({
    limits: () => ({ accountsPerDay: 1_000, trusted: false }),
    wallMs: () => wallMs,
    slowedMs: 1,
    onRestricted: () => assert.fail('restricted'),
    onLifted: () => assert.fail('lifted'),
  });
  const replica = createClientReplica({
    clientId,
    guard: {
      ...guard,
      recordVerdict(isNotFound, nowMs) {
        verdicts += 1;
        guard.recordVerdict(isNotFound, nowMs);
      },
    },
    log: createSharedLog(windows, 'log', 60_000),
    clock: () => performance.now(),
    setQuiet: () => {},
    onFirstRead: () => {},
  });
  return {
    replica,
    windows,
    check: () => replica.admit(String((accounts += 1)).padStart(8, '0'), accounts),
    accounts: guard.accountsToday,
    verdicts: () => verdicts,
    nextDay: () => void (wallMs += DAY_MS),
  };
}
