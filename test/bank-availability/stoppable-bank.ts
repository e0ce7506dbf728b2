import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { AccountInquiriesOptions } from '../../apps/server/src/rails/account-inquiries.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { PROTECTION } from '../../apps/server/src/rails/resilience/settings.ts';
import { call, EVENTS } from '../callbacks/endpoints-harness.ts';
import { answerActive, startScriptedBank } from '../rails/scripted-bank.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** A database that ends with the test. */
export async function openDatabase(context: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase();
  context.after(() => database.drop());
  return database;
}

/** A bank that dies and comes back. */
export interface MortalBank {
  dead: boolean;
  rail(): Rail;
  /** How many inquiries have arrived. */
  asked(): number;
}

export async function startMortalBank(context: TestContext): Promise<MortalBank> {
  const scripted = await startScriptedBank({
    inquiry: (request, response) => (bank.dead ? response.destroy() : answerActive(request, response)),
  });
  context.after(() => scripted.close());
  const keys = rsaKeys();
  const bank: MortalBank = {
    dead: false,
    rail: () => scripted.rail(keys),
    asked: () => scripted.inquiries.length,
  };
  return bank;
}

/** Given up after three failures, and tried again soon. */
const IMPATIENT: AccountInquiriesOptions = {
  protection: {
    ...PROTECTION,
    breaker: { ...PROTECTION.breaker, consecutiveFailuresMax: 3, openMinMs: 200, openMaxMs: 400 },
  },
};

/** A process of the service, which can ask this bank. */
export interface BankAsker {
  readonly service: TestService;
  /** Of a client that may use the whole public API. */
  readonly token: string;
  /** Checks an account that nobody has asked about, by default BCA's. */
  check(bankCode?: string): Promise<void>;
  /** What a client, by default that one, was told so far. */
  told(token?: string): Promise<readonly Told[]>;
  /** Keeps checking accounts, as clients do, until it has been told so much. */
  untilTold(count: number): Promise<readonly Told[]>;
  /** Keeps checking accounts until it is so. */
  askUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
}

export interface Told {
  readonly event_id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** It ends with the test, or before. */
export async function startAsker(context: TestContext, database: TestDatabase, bank: MortalBank): Promise<BankAsker> {
  const service = await startTestService({ rails: [bank.rail()], inquiries: IMPATIENT, database });
  context.after(() => service.close());
  const { token } = service.alpha;

  const asker: BankAsker = {
    service,
    token,
    async check(bankCode = 'BCA') {
      accounts += 1;
      await service.checkAccount({ bank_code: bankCode, account_number: String(1_000_000_000 + accounts) });
    },
    async told(by = token) {
      const answer = await call(service, 'GET', EVENTS, { token: by });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data?.['events'] as readonly Told[];
    },
    async untilTold(count) {
      let events: readonly Told[] = [];
      await asker.askUntil(`${count} events`, async () => (events = await asker.told()).length >= count);
      return events;
    },
    askUntil: (what, isSo) =>
      eventually(what, async () => {
        await asker.check();
        return isSo();
      }),
  };
  return asker;
}

let accounts = 0;

export const named = (events: readonly Told[]): string[][] => events.map(({ event_id: id, type }) => [id, type]);
