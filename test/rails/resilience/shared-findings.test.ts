import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetrics } from '../../../apps/server/src/observability/metrics.ts';
import { type AccountInquiries, createAccountInquiries } from '../../../apps/server/src/rails/account-inquiries.ts';
import { bankHealths } from '../../../apps/server/src/rails/bank-status.ts';
import { PROTECTION } from '../../../apps/server/src/rails/resilience/settings.ts';
import { inquiryOf } from '../connection.ts';
import { accounts, active, noVerdict, type Script, type ScriptedRail, scriptedRail } from './scripted-rail.ts';

const { consecutiveFailuresMax, openMinMs } = PROTECTION.breaker;
const ACTIVE = active('BUDI SANTOSO');
const ANSWERS: Script = () => ACTIVE;
const FAILS: Script = () => noVerdict('bank_unavailable');
const CANNOT_BE_REACHED: Script = () => noVerdict('unreachable');
/** How often processes tell each other what they have found (bank-availability/findings-exchange.ts). */
const EXCHANGE_MS = 200;
const nextAccount = accounts();

interface TestProcess {
  readonly rail: ScriptedRail;
  readonly inquiries: AccountInquiries;
  /** The outcome of an inquiry about a new account: the status, or why there is none. */
  inquire(clientId?: string): Promise<string>;
  status(): string | undefined;
}

/** Processes with ways of their own to one bank, and a clock that the test advances. */
function startProcesses(...scripts: readonly Script[]) {
  let nowMs = 10_000;
  const processes = scripts.map((script): TestProcess => {
    const rail = scriptedRail('only', script);
    const inquiries = createAccountInquiries([rail], createMetrics(), { clock: () => nowMs, random: () => 0 });
    return {
      rail,
      inquiries,
      async inquire(clientId = 'alpha') {
        const outcome = await inquiries.inquire(inquiryOf('BCA', nextAccount(), clientId));
        return outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;
      },
      status: () => bankHealths(inquiries.snapshot()).get('CENAIDJA')?.status,
    };
  });
  const exchange = (): void => {
    for (const each of processes) {
      const others = processes.filter((other) => other !== each);
      each.inquiries.learn(others.flatMap(({ inquiries }) => inquiries.findings()));
    }
  };
  return {
    processes: processes as [TestProcess, TestProcess, TestProcess],
    /** Lets the time pass, in which processes exchange findings and each of `busy` inquires once at a time. */
    async advance(ms: number, busy: readonly TestProcess[] = []): Promise<void> {
      for (let left = ms; left > 0; left -= EXCHANGE_MS) {
        nowMs += Math.min(left, EXCHANGE_MS);
        for (const each of busy) await each.inquire();
        exchange();
      }
    },
    jump: (ms: number): void => void (nowMs += ms),
  };
}

/** As many failures as open the breaker, of several clients. */
async function fail({ inquire }: TestProcess): Promise<void> {
  for (let time = 0; time < consecutiveFailuresMax * 2; time += 1) await inquire(`client-${time % 3}`);
}

describe('a bank that fails one process', () => {
  it('is probed once by each other process, and then left alone', async () => {
    const { processes, advance } = startProcesses(FAILS, FAILS, FAILS);
    const [one, two, three] = processes;
    assert.equal(await three.inquire('beta'), 'bank_unavailable');
    await fail(one);
    await advance(1_000);
    for (const each of [two, three]) {
      const before = each.rail.inquiries.length;
      const outcomes = await Promise.all(['alpha', 'beta', 'gamma'].map(each.inquire));
      assert.deepEqual(outcomes, ['bank_unavailable', 'circuit_open', 'circuit_open']);
      assert.equal(await each.inquire(), 'circuit_open');
      assert.equal(each.rail.inquiries.length - before, 1);
      assert.equal(each.status(), 'DOWN');
    }
  });

  it('is not taken from a busy process that it answers, and is not DOWN', async () => {
    const { processes, advance } = startProcesses(CANNOT_BE_REACHED, ANSWERS, ANSWERS);
    const [broken, busy, idle] = processes;
    await busy.inquire();
    await fail(broken);
    let refused = 0;
    for (let time = 0; time < 300; time += 1) {
      await advance(EXCHANGE_MS);
      for (const outcome of await Promise.all([busy.inquire(), busy.inquire('beta')]))
        if (outcome !== 'ACTIVE') refused += 1;
      await broken.inquire();
      if (time > 2) assert.notEqual(broken.status(), 'DOWN');
      assert.equal(busy.status(), 'UP');
    }
    assert.equal(refused, 0);
    assert.equal(await idle.inquire(), 'ACTIVE');
    assert.equal(await idle.inquire(), 'ACTIVE');
  });

  it('is probed by an idle process, and stays open to it when it answers', async () => {
    const { processes, advance } = startProcesses(CANNOT_BE_REACHED, ANSWERS);
    const [broken, idle] = processes;
    await idle.inquire();
    await advance(1_000);
    await fail(broken);
    await advance(1_000);
    assert.equal(broken.status(), 'DOWN', 'no process knows better yet');
    assert.deepEqual(await Promise.all([idle.inquire(), idle.inquire()]), ['ACTIVE', 'circuit_open']);
    assert.deepEqual(await Promise.all([idle.inquire(), idle.inquire()]), ['ACTIVE', 'ACTIVE']);
    await advance(EXCHANGE_MS);
    assert.equal(broken.status(), 'DEGRADED');
    await advance(60_000, [broken]);
    assert.deepEqual(await Promise.all([idle.inquire(), idle.inquire()]), ['ACTIVE', 'ACTIVE']);
  });

  it('is probed at once by all when it answers one of them again', async () => {
    const { processes, advance, jump } = startProcesses(FAILS, FAILS);
    const [one, two] = processes;
    for (const each of [one, two]) await fail(each);
    // The open time of the second one doubles.
    jump(openMinMs);
    assert.equal(await two.inquire(), 'bank_unavailable');
    jump(EXCHANGE_MS);
    for (const { rail } of [one, two]) rail.script = ANSWERS;
    assert.equal(await two.inquire(), 'circuit_open');
    assert.equal(await one.inquire(), 'ACTIVE');
    await advance(EXCHANGE_MS);
    assert.equal(await two.inquire(), 'ACTIVE');
    await advance(EXCHANGE_MS);
    await advance(EXCHANGE_MS);
    assert.deepEqual([...one.inquiries.findings(), ...two.inquiries.findings()], [], 'nothing is left to tell');
  });

  it('is no longer suspected when that process has ended or the bank answers it', async () => {
    const { processes, advance } = startProcesses(FAILS, ANSWERS);
    const [one, idle] = processes;
    await idle.inquire();
    await fail(one);
    await advance(1_000);
    assert.equal(idle.inquiries.snapshot()[0]?.banks[0]?.health.state, 'half_open');
    one.rail.script = ANSWERS;
    await advance(openMinMs + 1_000, [one]);
    assert.equal(idle.inquiries.snapshot()[0]?.banks[0]?.health.state, 'closed');
  });

  it('over the accounts of one client, only makes that client a suspect', async () => {
    const { processes, advance } = startProcesses(FAILS, FAILS);
    const [one, idle] = processes;
    for (let time = 0; time < consecutiveFailuresMax; time += 1) await one.inquire('alpha');
    await advance(1_000);
    assert.equal(await idle.inquire('alpha'), 'bank_unavailable');
    assert.equal(await idle.inquire('alpha'), 'circuit_open');
    idle.rail.script = ANSWERS;
    assert.equal(await idle.inquire('beta'), 'ACTIVE', 'another client is the next probe, at once');
    assert.equal(await idle.inquire('alpha'), 'circuit_open', 'and only the first one is suspended');
    assert.equal(await idle.inquire('beta'), 'ACTIVE');
  });

  it('by rejecting the credentials, is not tried with them by each process', async () => {
    const { processes, advance } = startProcesses(
      () => noVerdict('credentials_rejected'),
      () => noVerdict('credentials_rejected'),
    );
    const [one, two] = processes;
    for (let time = 0; time < PROTECTION.breaker.consecutiveRejectionsMax; time += 1) await one.inquire();
    await advance(1_000);
    for (let time = 0; time < 10; time += 1) await two.inquire();
    assert.equal(two.rail.inquiries.length, 1);
  });
});
