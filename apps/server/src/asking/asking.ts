import type { BankDirectory } from '../domain/bank.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import type { Rail } from '../rails/rail.ts';
import { repeat } from '../repeat.ts';
import { createAnswers } from './answers.ts';
import { type AskedRail, isAskable } from './asked-rail.ts';
import { createPace } from './pace.ts';
import { createQuestions } from './questions.ts';
import { createRecently } from './recently.ts';
import { createRefreshing } from './refreshing.ts';
import { createRounds } from './rounds.ts';

export interface AskingParts {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly rails: readonly Rail[];
  readonly banks: BankDirectory;
  readonly metrics: Pick<Metrics, 'transferInquiries' | 'transfersForReview'>;
  readonly log: Log;
  /** A transaction that was asked about longer ago than this is asked about again when somebody reads it. */
  readonly staleMs: number;
  /** A reader is answered with what is known when the bank takes longer. 300 ms, unless told otherwise. */
  readonly readerWaitsMs?: number;
  /** How long a bank may know nothing of a transfer before a person shall look into it. An hour, unless told otherwise. */
  readonly unknownGraceMs?: number;
  /** The time for `refresh` and `start`. */
  readonly now?: () => Date;
}

/** Asks banks about transfers in PROCESS, so that a lost notification never leaves money "in process" for ever. */
export interface Asking {
  /**
   * Has the bank asked about a transaction that somebody reads, when that was long ago. Resolves when the answer is
   * stored, at once when there is nothing to ask, and after `readerWaitsMs` in any case; with whether anybody was
   * asked. Never rejects.
   */
  refresh(clientId: string, transactionId: string): Promise<boolean>;
  /**
   * Asks what the schedule says is due by `now`, at each rail as much as it bears; resolves when the answers are stored,
   * with how many questions there were.
   * @throws DatabaseUnavailable
   */
  ask(now: Date): Promise<number>;
  /** Asks by itself from now on. */
  start(): void;
  /** Cuts short what is being asked: somebody else, or the next start, goes on. */
  close(): Promise<void>;
}

export const READER_WAITS_MS = 300;
const UNKNOWN_GRACE_MS = 60 * 60_000;
const INTERVAL_MS = 1_000;

export function createAsking(parts: AskingParts): Asking {
  const { database, ledger, metrics, log, staleMs } = parts;
  const { readerWaitsMs = READER_WAITS_MS, unknownGraceMs = UNKNOWN_GRACE_MS, now = () => new Date() } = parts;
  const rails = new Map(
    parts.rails.filter(isAskable).map((rail): [string, AskedRail] => {
      const pace = createPace((troubled) => {
        if (troubled) log.warn({ rail: rail.name }, 'the bank does not answer about transfers: it is asked less');
        else log.info({ rail: rail.name }, 'the bank answers about transfers as before');
      });
      const answers = createAnswers(rail.name, { database, ledger, metrics, log, unknownGraceMs });
      return [rail.name, { rail, pace, answers }];
    }),
  );
  const questions = createQuestions({ banks: parts.banks, metrics, log });
  const recently = createRecently();
  const rounds = createRounds({ database, rails, questions, recently, log });
  const refreshing = createRefreshing({ database, rails, questions, recently, staleMs, readerWaitsMs, now, log });
  let loop: ReturnType<typeof repeat> | undefined;

  return {
    refresh: refreshing.refresh,
    async ask(due) {
      const asked = await Promise.all(await rounds.begin(due));
      await questions.ended();
      return asked.reduce((sum, each) => sum + each, 0);
    },
    start() {
      loop ??= repeat(
        INTERVAL_MS,
        () => rounds.begin(now()),
        (error) => log.warn({ err: error }, 'which banks are to be asked could not be found out; it is tried again'),
      );
    },
    async close() {
      await loop?.stop();
      questions.close();
      await rounds.close();
      await refreshing.close();
      await questions.ended();
    },
  };
}
