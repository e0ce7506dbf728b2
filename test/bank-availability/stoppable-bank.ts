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

/** A database that is dropped after the test. */
export async function openDatabase(context: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase();
  context.after(() => database.drop());
  return database;
}

/** A bank that can be stopped and started again. */
export interface StoppableBank {
  isStopped: boolean;
  rail(): Rail;
  /** The number of inquiries that have arrived. */
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

/** The circuit breaker opens after three failures, and tries again soon. */
const QUICK_BREAKER: AccountInquiriesOptions = {
  protection: {
    ...PROTECTION,
    breaker: { ...PROTECTION.breaker, consecutiveFailuresMax: 3, openMinMs: 200, openMaxMs: 400 },
  },
};

/** Tenths of what they are in production: a status is published as soon as it has lasted for 200 ms. */
const QUICK_AVAILABILITY = { intervalMs: 100, stableMs: 200 };

/** A process of the service with this bank, and a client that checks accounts. */
export interface CheckingService {
  readonly service: TestService;
  /** The token of a client that may use the whole public API. */
  readonly token: string;
  /** Checks a new account, by default one at BCA. */
  check(bankCode?: string): Promise<void>;
  /** The events so far of a client, by default of that one. */
  events(token?: string): Promise<readonly PublishedEvent[]>;
  /** Keeps checking accounts until the client has this number of events. */
  untilEvents(count: number): Promise<readonly PublishedEvent[]>;
  /** Keeps checking accounts until the condition holds. */
  checkUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<void>;
}

export interface PublishedEvent {
  readonly event_id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** It is closed after the test, if the test has not closed it. */
export async function startCheckingService(
  context: TestContext,
  database: TestDatabase,
  bank: StoppableBank,
  bankAvailability = QUICK_AVAILABILITY,
): Promise<CheckingService> {
  const service = await startTestService({
    rails: [bank.rail()],
    inquiries: QUICK_BREAKER,
    bankAvailability,
    database,
  });
  context.after(() => service.close());
  const { token } = service.alpha;

  const checking: CheckingService = {
    service,
    token,
    async check(bankCode = 'BCA') {
      accounts += 1;
      const accountNumber = String(1_000_000_000 + accounts * NOT_SEQUENTIAL);
      await service.checkAccount({ bank_code: bankCode, account_number: accountNumber });
    },
    async events(clientToken = token) {
      const answer = await call(service, 'GET', EVENTS, { token: clientToken });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data?.['events'] as readonly PublishedEvent[];
    },
    async untilEvents(count) {
      let events: readonly PublishedEvent[] = [];
      await checking.checkUntil(`${count} events`, async () => (events = await checking.events()).length >= count);
      return events;
    },
    checkUntil: (what, condition) =>
      eventually(what, async () => {
        await checking.check();
        return condition();
      }),
  };
  return checking;
}

let accounts = 0;
/** A client that checks sequential numbers is slowed down. */
const NOT_SEQUENTIAL = 7_919;

export const namesOf = (events: readonly PublishedEvent[]): string[][] =>
  events.map(({ event_id: id, type }) => [id, type]);
