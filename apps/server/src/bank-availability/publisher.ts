import type { BankDirectory } from '../domain/bank.ts';
import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';
import { type BankAvailability, changeBankAvailability, listBankAvailability } from '../postgres/bank-availability.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { bankHealths } from '../rails/bank-status.ts';
import { createAvailabilityMonitor } from './monitor.ts';
import { notifyClientBatch } from './notify-clients.ts';

/**
 * Tells clients when no rail to a bank answers any more, and when one answers again. Inquiries pay nothing for it: each
 * second, what they left behind is held against what clients were told last. Every process does so for itself; the one
 * whose word is news tells it, and the others find it told.
 */
export interface AvailabilityPublisher {
  /** Ends the telling that is under way. */
  close(): Promise<void>;
}

export interface AvailabilityPublisherDependencies {
  readonly database: Database;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  readonly banks: BankDirectory;
  readonly log: Log;
}

const LOOK_INTERVAL_MS = 1_000;

export function startAvailabilityPublisher({
  database,
  inquiries,
  banks,
  log,
}: AvailabilityPublisherDependencies): AvailabilityPublisher {
  const watch = createAvailabilityMonitor();
  let closing = false;

  async function look(): Promise<void> {
    const seen = watch.look(bankHealths(inquiries.snapshot()), Date.now());
    const known = await listBankAvailability(database);
    // What a process that died has begun to tell is told to the end by whoever looks next.
    const untold = known.filter(({ isPublished }) => !isPublished).map(({ bic }) => bic);
    for (const state of seen.filter((each) => isNews(each, known))) {
      if (!(await changeBankAvailability(database, state))) continue;
      log.info({ bank: state.bic, status: state.status }, 'clients are told how a bank is');
      untold.push(state.bic);
    }
    for (const bic of untold) await tell(bic);
  }

  async function tell(bic: string): Promise<void> {
    const bank = banks.find(bic);
    if (bank === null) return;
    let mayBeMore = true;
    while (mayBeMore) mayBeMore = !closing && (await notifyClientBatch(database, bank));
  }

  const looking = repeat(LOOK_INTERVAL_MS, look, (error) =>
    log.warn({ err: error }, 'clients could not be told how banks are; it is tried again'),
  );

  return {
    async close() {
      closing = true;
      await looking.stop();
    },
  };
}

function isNews(state: BankAvailability, known: readonly BankAvailability[]): boolean {
  const { status, ageMs } = known.find(({ bic }) => bic === state.bic) ?? NEVER_TOLD;
  return state.status !== status && state.ageMs < ageMs;
}

const NEVER_TOLD = { status: 'UP', ageMs: Number.POSITIVE_INFINITY } as const;
