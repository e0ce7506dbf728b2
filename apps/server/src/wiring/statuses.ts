import { type Asking, createAsking } from '../asking/asking.ts';
import { createFeed, type Feed } from '../feed/feed.ts';
import { createExpectations } from '../ledger/expectations.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { repeat } from '../repeat.ts';
import type { Stage } from './parts.ts';
import type { Store } from './store.ts';

/** What keeps the statuses true: what the core says, what banks say, and time. */
export interface Statuses {
  readonly ledger: Ledger;
  readonly feed: Feed;
  readonly asking: Asking;
}

/** A bank that has just accepted a transfer has nothing to say of it yet. */
const FIRST_INQUIRY_MS = 5_000;
const OVERDUE_INTERVAL_MS = 2_000;
const OVERDUE_BATCH = 500;

export function openStatuses({ options, metrics, onClose }: Stage, { database, clients }: Store): Statuses {
  const { settings, banks, rails } = options;
  const { log } = options.logging;
  const ledger = createLedger({
    database,
    expectedMs: createExpectations(settings.overdueAfter, banks),
    firstInquiryMs: FIRST_INQUIRY_MS,
  });
  const overdue = repeat(
    OVERDUE_INTERVAL_MS,
    () => ledger.observeTime(new Date(), OVERDUE_BATCH),
    (error) => log.warn({ err: error }, 'what is overdue could not be looked for; it is tried again'),
  );
  onClose(overdue.stop);
  const staleMs = settings.staleSeconds * 1000;
  const asking = createAsking({ database, ledger, rails, banks, metrics, log, staleMs });
  onClose(asking.close);
  asking.start();
  const feed = createFeed({
    ledger,
    banks,
    knowsClient: (clientId) => clients.find(clientId) !== undefined,
    onApplied: (outcome) => metrics.feedLines.inc({ outcome }),
  });
  return { ledger, feed, asking };
}
