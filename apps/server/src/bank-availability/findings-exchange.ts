import type { BankDirectory } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import {
  type BankFindingNotices,
  listBankFindings,
  type StoredFinding,
  storeBankFindings,
} from '../postgres/bank-findings.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { BankFinding } from '../rails/resilience/guards.ts';

/**
 * Shares what circuit breakers find over all processes (docs/decisions/0037). What this process finds is stored in
 * PostgreSQL, which notifies the others. While no process has anything to report, this costs no query.
 */
export interface FindingsExchange {
  /** Stops, and resolves when the exchange in progress has ended. */
  close(): Promise<void>;
}

export interface FindingsExchangeDependencies {
  readonly database: Database;
  readonly processId: string;
  readonly notices: BankFindingNotices;
  readonly inquiries: Pick<AccountInquiries, 'findings' | 'learn' | 'snapshot'>;
  readonly banks: BankDirectory;
  readonly log: Log;
}

/** Others learn of a change within a second, and a read takes some of it. */
const INTERVAL_MS = 200;
/** The rows of a process that was killed end without a notification. */
const READ_AGAIN_MS = 1_000;
/** A bank that goes on answering is reported again. So are findings that were deleted because this process was slow. */
const STORE_AGAIN_MS = 5_000;

interface State {
  /** What this process has stored. */
  stored: readonly BankFinding[];
  storedMs: number;
  /** What the others have stored, as of `readMs`. */
  others: readonly BankFinding[];
  readMs: number;
  /** Others may have stored something since. */
  isOutdated: boolean;
  /** The banks, by rail, that fail here and answer other processes, as was logged. */
  failingHere: ReadonlySet<string>;
}

export function startFindingsExchange(dependencies: FindingsExchangeDependencies): FindingsExchange {
  const { inquiries, notices, log } = dependencies;
  const state: State = {
    stored: [],
    storedMs: 0,
    others: [],
    readMs: 0,
    isOutdated: true,
    failingHere: new Set(),
  };

  async function exchange(): Promise<void> {
    await store(dependencies, state);
    await read(dependencies, state);
    const agedMs = performance.now() - state.readMs;
    inquiries.learn(state.others.map((each) => ({ ...each, ageMs: each.ageMs + agedMs })));
    logFailingHere(dependencies, state);
  }

  const failures = createFailureLog(log, 'sharing findings about banks with other processes failed; will retry');
  const loop = repeat(INTERVAL_MS, exchange, failures);
  notices.subscribe(() => {
    state.isOutdated = true;
    loop.now();
  });
  return { close: loop.stop };
}

async function store({ database, processId, inquiries }: FindingsExchangeDependencies, state: State): Promise<void> {
  const found = inquiries.findings();
  const isDue = found.length > 0 && performance.now() - state.storedMs >= STORE_AGAIN_MS;
  if (!isDue && isSame(found, state.stored)) return;
  await storeBankFindings(
    database,
    processId,
    found.map(({ bank, ...finding }) => ({ ...finding, bic: bank.bic })),
  );
  state.stored = found;
  state.storedMs = performance.now();
}

const isSame = (some: readonly BankFinding[], others: readonly BankFinding[]): boolean =>
  some.length === others.length && some.every((one, index) => isSameFinding(one, others[index] as BankFinding));

/** Findings come in the order of the first inquiries to their banks, so equal ones have the same index. */
const isSameFinding = (one: BankFinding, other: BankFinding): boolean =>
  one.rail === other.rail &&
  one.bank === other.bank &&
  one.isFailing === other.isFailing &&
  one.clientId === other.clientId;

async function read({ database, processId, banks }: FindingsExchangeDependencies, state: State): Promise<void> {
  const isDue = state.others.length > 0 && performance.now() - state.readMs >= READ_AGAIN_MS;
  if (!state.isOutdated && !isDue) return;
  state.isOutdated = false;
  try {
    const listed = await listBankFindings(database, processId);
    state.others = listed.flatMap((finding) => withBank(finding, banks));
    state.readMs = performance.now();
  } catch (error) {
    state.isOutdated = true;
    throw error;
  }
}

/** A process of another version may know other banks. */
function withBank({ bic, ...finding }: StoredFinding, banks: BankDirectory): BankFinding[] {
  const bank = banks.find(bic);
  return bank === null ? [] : [{ ...finding, bank }];
}

/** An operator must find the process whose way to a bank is broken. */
function logFailingHere({ inquiries, log }: FindingsExchangeDependencies, state: State): void {
  if (state.others.length === 0 && state.failingHere.size === 0) return;
  const failingHere = new Set<string>();
  for (const { name: rail, banks } of inquiries.snapshot()) {
    for (const { bank, health } of banks) {
      if (!health.answersOthers) continue;
      const key = keyOf(rail, bank.bic);
      failingHere.add(key);
      if (!state.failingHere.has(key))
        log.warn(
          { rail, bank: bank.bic },
          'this bank answers other processes: check the network from this process to the bank; probing it meanwhile',
        );
    }
  }
  state.failingHere = failingHere;
}
