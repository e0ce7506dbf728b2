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
export interface StoppableBank {
  isStopped: boolean;
  rail(): Rail;
  /** How many inquiries have arrived. */
  inquiryCount(): number;
}

export async function startStoppableBank(context: TestContext): Promise<StoppableBank> {
  const scripted = await startScriptedBank({
    inquiry: (request, response) => (bank.isStopped ? response.destroy() : answerActive(request, response)),
  });
  context.after(() => scripted.close());
  const keys = rsaKeys();
  const bank: StoppableBank = {
    isStopped: false,
    rail: () => scripted.rail(keys),
    inquiryCount: () => scripted.inquiries.length,
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
export interface CheckingService {
  readonly service: TestService;
  /** Of a client that may use the whole public API. */
  readonly token: string;
  /** Checks an account that nobody has asked about, by default BCA's. */
  check(bankCode?: string): Promise<void>;
  /** What a client, by default that one, was told so far. */
  events(token?: string): Promise<readonly PublishedEvent[]>;
  /** Keeps checking accounts, as clients do, until it has been told so much. */
  untilEvents(count: number): Promise<readonly PublishedEvent[]>;
  /** Keeps checking accounts until it is so. */
  checkUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
}

export interface PublishedEvent {
  readonly event_id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** It ends with the test, or before. */
export async function startCheckingService(
  context: TestContext,
  database: TestDatabase,
  bank: StoppableBank,
): Promise<CheckingService> {
  const service = await startTestService({ rails: [bank.rail()], inquiries: IMPATIENT, database });
  context.after(() => service.close());
  const { token } = service.alpha;

  const asker: CheckingService = {
    service,
    token,
    async check(bankCode = 'BCA') {
      accounts += 1;
      await service.checkAccount({ bank_code: bankCode, account_number: String(1_000_000_000 + accounts) });
    },
    async events(by = token) {
      const answer = await call(service, 'GET', EVENTS, { token: by });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data?.['events'] as readonly PublishedEvent[];
    },
    async untilEvents(count) {
      let events: readonly PublishedEvent[] = [];
      await asker.checkUntil(`${count} events`, async () => (events = await asker.events()).length >= count);
      return events;
    },
    checkUntil: (what, isSo) =>
      eventually(what, async () => {
        await asker.check();
        return isSo();
      }),
  };
  return asker;
}

let accounts = 0;

export const namesOf = (events: readonly PublishedEvent[]): string[][] =>
  events.map(({ event_id: id, type }) => [id, type]);
