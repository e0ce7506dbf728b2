import { randomBytes } from 'node:crypto';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { createFeed, type Feed } from '../../apps/server/src/feed/feed.ts';
import { claimDeliveries } from '../../apps/server/src/postgres/callback-deliveries.ts';
import { recordResults } from '../../apps/server/src/postgres/callback-results.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import type { EndpointKey } from '../../apps/server/src/postgres/due-endpoints.ts';
import { createTransactionUpdater } from '../../apps/server/src/transactions/transaction-updater.ts';

const CLIENTS = 5;
/** Lines of one feed. */
const FEED_LINES = 500;
/** A transaction ends this many feeds after the one that creates it. */
const FEEDS_IN_PROCESS = 4;
/** Deliveries that are claimed and recorded together. */
const DELIVERIES = 32;
const BANKS = ['014', '008', '009', '002', '022'];
const NAMES = ['BUDI SANTOSO', 'SITI RAHAYU', 'DEWI LESTARI', 'AGUS WIJAYA', 'RATNA TANJUNG', 'JOKO SUSILO'];
/** Any time; each transaction is created 20 ms after the one before. */
const START_MS = Date.parse('2026-11-21T00:00:00.000Z');

export interface FillOptions {
  readonly database: Database;
  readonly transactions: number;
  readonly signal: AbortSignal;
  readonly onProgress: (transactions: number) => void;
}

/**
 * Stores transactions as the service does: the feed creates and then ends each of them, and a callback is delivered at
 * the first attempt. The statements are the service's own; only HTTP is left out.
 */
export async function fillByFeed({ database, transactions, signal, onProgress }: FillOptions): Promise<void> {
  const endpoints = await addClients(database);
  const feed = openFeed(database);
  const feeds = Math.ceil(transactions / FEED_LINES);
  for (let index = 0; index < feeds + FEEDS_IN_PROCESS; index += 1) {
    signal.throwIfAborted();
    if (index < feeds) await feedLines(feed, index, 'PROCESS');
    if (index < FEEDS_IN_PROCESS) continue;
    await feedLines(feed, index - FEEDS_IN_PROCESS, 'SUCCESS');
    for (const endpoint of endpoints) await deliver(database, endpoint);
    onProgress((index - FEEDS_IN_PROCESS + 1) * FEED_LINES);
  }
}

const clientIdOf = (index: number): string => `client-${index % CLIENTS}`;

/** Clients, each with an endpoint that wants the ends of transactions. */
export async function addClients(database: Database): Promise<EndpointKey[]> {
  const endpoints: EndpointKey[] = [];
  for (let index = 0; index < CLIENTS; index += 1) {
    const clientId = clientIdOf(index);
    await insertClient(database, { clientId, name: clientId, secretHash: randomBytes(32), scopes: [] });
    const key = { clientId, endpointId: `ep_${randomBytes(10).toString('hex')}` };
    // In SQL, because the feed of another clone has the tables of that clone.
    await database.query(
      `insert into tiba.callback_endpoints (client_id, endpoint_id, url, kinds, secret_sealed)
       values ($1, $2, 'https://client.example/callbacks', '{disbursement.succeeded}', $3)`,
      [key.clientId, key.endpointId, randomBytes(64)],
    );
    endpoints.push(key);
  }
  return endpoints;
}

function openFeed(database: Database): Feed {
  const transactionUpdater = createTransactionUpdater({
    database,
    expectedMs: () => 1_800_000,
    firstInquiryMs: 5_000,
    now: Date.now,
    versionFloor: () => 0,
  });
  const banks = createBankDirectory(bankEntries);
  return createFeed({ transactionUpdater, banks, clientExists: () => true, onApplied() {}, causes: null });
}

async function feedLines(feed: Feed, index: number, status: FedStatus): Promise<void> {
  const lines = Array.from({ length: FEED_LINES }, (_, line) => statusMessage(index * FEED_LINES + line, status));
  const run = feed.open('core');
  await run.readNdjson(
    (async function* () {
      yield Buffer.from(lines.join('\n'));
    })(),
  );
  const { inserted, advanced } = run.report;
  if (inserted + advanced !== FEED_LINES) throw new Error(`a feed was not stored: ${JSON.stringify(run.report)}`);
}

export type FedStatus = 'PROCESS' | 'SUCCESS';

/** The status update of the transaction with this number. */
export function statusMessage(number: number, status: FedStatus): string {
  // Digits that look random, and are the same in both messages.
  const digits = String((number * 7_919_000_003) % 9_999_999_967).padStart(10, '0');
  const createdMs = START_MS + number * 20;
  return JSON.stringify({
    client_id: clientIdOf(number),
    transaction_id: `TB${String(number).padStart(12, '0')}`,
    reference_id: `INV/2026/${digits}`,
    status,
    amount: `${Number(digits.slice(0, 5)) + 10}000.00`,
    fee: '2500.00',
    bank_code: BANKS[number % BANKS.length],
    account_number: digits,
    account_name: NAMES[number % NAMES.length],
    description: `Refund of order ${digits.slice(3)}`,
    created_at: new Date(createdMs).toISOString(),
    processed_at: status === 'PROCESS' ? null : new Date(createdMs + 5_000 + (number % 3_001)).toISOString(),
  });
}

async function deliver(database: Database, endpoint: EndpointKey): Promise<void> {
  for (;;) {
    const claimed = await claimDeliveries(database, endpoint, { limit: DELIVERIES, leaseMs: 20_000 });
    if (claimed.length === 0) return;
    const endedMs = performance.now();
    const url = claimed[0]?.endpoint.url ?? '';
    const attempts = claimed.map(({ sequence, attempt }) => ({
      clientId: endpoint.clientId,
      endpointId: endpoint.endpointId,
      url,
      sequence,
      attempt,
      endedMs,
      durationMs: 12,
      httpStatus: 204,
      answer: '',
      error: null,
      state: 'delivered' as const,
      delayMs: null,
    }));
    const health = { ...endpoint, url, succeeded: true, firstFailureMs: null, gone: false, lastEndedMs: endedMs };
    await recordResults(database, attempts, [health]);
  }
}
