import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import type { TransactionKey } from '../postgres/transactions.ts';
import { claimInquiry } from '../postgres/transfer-inquiry-claims.ts';
import { claimEnd } from './claim-end.ts';
import type { Lines } from './line.ts';
import { keyOf, type Questions } from './questions.ts';
import type { Recently } from './recently.ts';

export interface RefreshingParts {
  readonly database: Database;
  readonly lines: Lines;
  readonly questions: Questions;
  readonly recently: Recently;
  readonly staleMs: number;
  readonly now: () => Date;
  readonly log: Log;
}

/** Asks because somebody reads. */
export interface Refreshing {
  refresh(clientId: string, transactionId: string): Promise<void>;
  close(): Promise<void>;
}

/** A reader is answered with what is known when the bank takes longer. */
const READER_WAITS_MS = 300;
/** One that a person has to look into is asked about rarely, however often it is read. */
const REVIEWED_STALE_MS = 15 * 60_000;

export function createRefreshing(parts: RefreshingParts): Refreshing {
  const { database, lines, questions, recently, staleMs, now, log } = parts;
  const claiming = new Map<string, Promise<void>>();

  const isStale = (key: TransactionKey, nowMs: number): boolean => {
    const askedAtMs = recently.askedAtMs(key);
    return askedAtMs === undefined || nowMs - askedAtMs > staleMs;
  };

  async function claimAndAsk(key: TransactionKey, at: Date): Promise<void> {
    const nowMs = at.getTime();
    const open = [...lines.values()].filter(({ pace }) => pace.isOpen(nowMs));
    if (open.length === 0) return;
    const before = (ms: number): string => new Date(nowMs - ms).toISOString();
    const { claimed, askedAt } = await claimInquiry(database, key, {
      now: at.toISOString(),
      until: claimEnd(at),
      rails: open.map(({ rail }) => rail.name),
      askedBefore: before(staleMs),
      reviewedBefore: before(Math.max(staleMs, REVIEWED_STALE_MS)),
    });
    if (claimed === null) {
      // Another process asked it: it is stale again when that is long ago.
      if (askedAt !== null && nowMs - Date.parse(askedAt) <= staleMs) recently.note(key, Date.parse(askedAt));
      return;
    }
    const line = lines.get(claimed.rail);
    if (line === undefined) return;
    // Another may have taken the place meanwhile.
    if (line.pace.take(1, nowMs) === 0) await line.answers.letGo(claimed);
    else await questions.begin(line, claimed, 'reader', at);
  }

  function begin(key: TransactionKey, at: Date): Promise<void> {
    // Now, not when it is claimed: whoever reads meanwhile would look for it as well.
    recently.note(key, at.getTime());
    const name = keyOf(key);
    const begun = claimAndAsk(key, at)
      .catch((error: unknown) => log.warn({ err: error }, 'a transaction that is read could not be asked about'))
      .finally(() => claiming.delete(name));
    claiming.set(name, begun);
    return begun;
  }

  return {
    async refresh(clientId, transactionId) {
      const key = { clientId, transactionId };
      const at = now();
      const asked =
        claiming.get(keyOf(key)) ?? questions.about(key) ?? (isStale(key, at.getTime()) ? begin(key, at) : undefined);
      if (asked === undefined) return;
      const enough = new AbortController();
      await Promise.race([asked, wait(READER_WAITS_MS, undefined, { signal: enough.signal }).catch(() => {})]);
      enough.abort();
    },
    async close() {
      await Promise.all(claiming.values());
    },
  };
}
