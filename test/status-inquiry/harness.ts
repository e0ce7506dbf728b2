import { Writable } from 'node:stream';
import { after } from 'node:test';
import pino from 'pino';
import type { Status } from '../../apps/server/src/domain/transaction.ts';
import type { Log } from '../../apps/server/src/observability/log.ts';
import { createMetrics, type Metrics } from '../../apps/server/src/observability/metrics.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { prepareDatabase } from '../../apps/server/src/postgres/prepare-database.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { createStatusInquiries, type StatusInquiries } from '../../apps/server/src/status-inquiry/status-inquiries.ts';
import type { ReceivedUpdate } from '../../apps/server/src/transactions/decide.ts';
import {
  createTransactionUpdater,
  type TransactionUpdater,
} from '../../apps/server/src/transactions/transaction-updater.ts';
import { type BankAnswer, type ScriptedBank, startScriptedBank } from '../rails/scripted-bank.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { controlDatabaseClock } from '../support/database-clock.ts';
import { eventually } from '../support/eventually.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';

/** The start of virtual time. */
export const START = new Date('2026-11-21T04:32:26.123Z');
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** Longer than anything takes on a machine that is busy with tests. */
const DEADLINE_MS = 20_000;

export const later = (ms: number, than = START): Date => new Date(than.getTime() + ms);

/** One process that makes status inquiries: its own connections, log and metrics. */
export interface InquiryProcess {
  readonly inquiries: Omit<StatusInquiries, 'poll'> & {
    /** Sets the time, and makes the inquiries that are due then. */
    poll(now: Date): Promise<number>;
  };
  readonly transactionUpdater: TransactionUpdater;
  readonly database: Database;
  readonly logged: Record<string, unknown>[];
  readonly metrics: Metrics;
  close(): Promise<void>;
}

export interface InquiryProcessOptions {
  readonly rails: readonly Rail[];
  readonly staleMs?: number;
  /** By default longer than any test takes. */
  readonly refreshTimeoutMs?: number;
  readonly unknownGraceMs?: number;
  /** Called before each statement that is sent outside a database transaction, with its name. A promise delays it. */
  readonly onQuery?: (name: string | undefined) => void | Promise<void>;
  /** Called before each database transaction. */
  readonly onTransaction?: () => void;
}

export interface InquiryBench {
  readonly database: Database;
  readonly connection: TestDatabase['connection'];
  /** Sets the clocks of PostgreSQL and of the processes, which stand still. They begin at `START`. */
  setTime(now: Date): Promise<void>;
  startProcess(options: InquiryProcessOptions): InquiryProcess;
  /** Inserts transactions in PROCESS at `at`, carried by `rail`, with their own IDs as rail references. */
  insertTransactions(transactionIds: readonly string[], at: Date, rail?: string): Promise<void>;
  close(): Promise<void>;
}

/** As `startInquiryBench`, with a bank that answers status inquiries with `status`. Both end with the test file. */
export async function startBenchWithBank(
  status: BankAnswer,
): Promise<{ readonly keys: RsaKeys; readonly bank: ScriptedBank; readonly bench: InquiryBench }> {
  const bank = await startScriptedBank({ status });
  const bench = await startInquiryBench();
  after(async () => {
    await bench.close();
    await bank.close();
  });
  return { keys: rsaKeys(), bank, bench };
}

/** A database with one client, and the processes that a test starts. */
export async function startInquiryBench(): Promise<InquiryBench> {
  const testDatabase = await createTestDatabase();
  const { connection } = testDatabase;
  const time = await controlTime(testDatabase);
  const log = pino({ level: 'silent' });
  const database = openDatabase({ connection, connectionsMax: 2, log });
  const transactionUpdater = createTestUpdater(database);
  const processes: InquiryProcess[] = [];
  const releaseAll = async (): Promise<void> => {
    await time.close();
    await database.close();
    await testDatabase.drop();
  };
  await prepareDatabase(database, { environment: 'sandbox', migrate: true }).catch(async (error: unknown) => {
    await releaseAll();
    throw error;
  });
  await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash: Buffer.alloc(32), scopes: [] });

  return {
    database,
    connection,
    setTime: time.set,
    startProcess(options) {
      const process = startProcess(connection, time, options);
      processes.push(process);
      return process;
    },
    async insertTransactions(transactionIds, at, rail = 'scripted-bank') {
      await time.set(at);
      const updates = transactionIds.map((id, index) => firstUpdate(id, at, rail, index));
      for (let from = 0; from < updates.length; from += 500) {
        const applied = await transactionUpdater.apply(updates.slice(from, from + 500), at);
        const unexpected = applied.find(({ outcome }) => outcome !== 'inserted');
        if (unexpected !== undefined) {
          throw new Error(`${unexpected.transactionId}: ${unexpected.outcome} ${unexpected.reason}`);
        }
      }
    },
    async close() {
      for (const process of processes) await process.close();
      await releaseAll();
    },
  };
}

/** The stopped clock that PostgreSQL and the processes share. */
interface SharedTime {
  now(): Date;
  set(now: Date): Promise<void>;
  close(): Promise<void>;
}

async function controlTime(testDatabase: TestDatabase): Promise<SharedTime> {
  const clock = await controlDatabaseClock(testDatabase);
  await clock.stopAt(START);
  let current = START;
  return {
    now: () => current,
    async set(now) {
      if (now.getTime() === current.getTime()) return;
      await clock.stopAt(now);
      current = now;
    },
    close: clock.close,
  };
}

export const createTestUpdater = (database: Database): TransactionUpdater =>
  createTransactionUpdater({
    database,
    expectedMs: () => 30 * MINUTE_MS,
    firstInquiryMs: 5 * SECOND_MS,
    now: Date.now,
    versionFloor: () => 0,
  });

function startProcess(
  connection: TestDatabase['connection'],
  time: SharedTime,
  options: InquiryProcessOptions,
): InquiryProcess {
  const logged: Record<string, unknown>[] = [];
  const log = collectingLog(logged);
  const opened = openDatabase({ connection, connectionsMax: 5, log });
  let ended: Promise<void> | undefined;
  const database: Database = {
    ...opened,
    // A test may close the database before its process ends.
    close: () => (ended ??= opened.close()),
    query: async (sql, values, name) => {
      await options.onQuery?.(name);
      return opened.query(sql, values, name);
    },
    transaction: async (work) => {
      options.onTransaction?.();
      return opened.transaction(work);
    },
  };
  const transactionUpdater = createTestUpdater(database);
  const metrics = createMetrics();
  const { rails, staleMs = 10_000, refreshTimeoutMs = DEADLINE_MS, unknownGraceMs } = options;
  const inquiries = createStatusInquiries({
    database,
    transactionUpdater,
    rails,
    banks: testBanks,
    metrics,
    log,
    staleMs,
    refreshTimeoutMs,
    inquiryTimeoutMs: DEADLINE_MS,
    ...(unknownGraceMs === undefined ? {} : { unknownGraceMs }),
    clock: () => time.now().getTime(),
  });
  let closed: Promise<void> | undefined;
  return {
    inquiries: {
      ...inquiries,
      async poll(now) {
        await time.set(now);
        return inquiries.poll();
      },
    },
    transactionUpdater,
    database,
    logged,
    metrics,
    close: () => (closed ??= inquiries.close().then(() => database.close())),
  };
}

const firstUpdate = (transactionId: string, at: Date, rail: string, index: number): ReceivedUpdate => ({
  line: index + 1,
  source: 'core',
  raw: '{}',
  update: {
    clientId: 'alpha',
    transactionId,
    referenceId: transactionId,
    status: 'PROCESS',
    amount: '150000.00',
    bankCode: index % 2 === 0 ? '014' : 'BRINIDJA',
    bankName: 'Bank',
    accountNumber: '1234567890',
    accountName: 'BUDI SANTOSO',
    createdAt: at.toISOString(),
    rail,
    railReference: transactionId,
  },
});

export const idsOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(10, '0')}`);

interface StoredTransaction extends Record<string, unknown> {
  readonly transaction_id: string;
  readonly status: Status;
  readonly failure_reason: string | null;
  readonly processed_at: Date | null;
  readonly reversed_at: Date | null;
}

export async function transactionsIn(database: Database): Promise<Map<string, StoredTransaction>> {
  const rows = await database.query<StoredTransaction>(
    'select transaction_id, status, failure_reason, processed_at, reversed_at from tiba.transactions',
  );
  return new Map(rows.map((row) => [row.transaction_id, row]));
}

/** When the next status inquiry is due; null if none is. */
export async function nextDue(database: Database): Promise<Date | null> {
  const [row] = await database.query<{ next_at: Date | null }>(
    'select min(next_at) as next_at from tiba.status_inquiries',
  );
  return row?.next_at ?? null;
}

function collectingLog(lines: Record<string, unknown>[]): Log {
  const collector = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') lines.push(JSON.parse(line));
      done();
    },
  });
  return pino({ base: null }, collector);
}

/** Resolves when the condition holds; rejects if it does not within 20 s. */
export const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(what, holds, DEADLINE_MS);
