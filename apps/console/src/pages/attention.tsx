import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import {
  amountColumn,
  bankColumn,
  clientColumn,
  createdColumn,
  transactionColumn,
} from '../components/transaction-columns.tsx';
import { Time } from '../components/values.tsx';
import { duration } from '../format.ts';
import { language, say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

/** Transactions that need a person. */

const POLL_MS = 15_000;
const LIMIT = 200;

const OVERDUE_LEAD: Text = {
  en: 'In process for longer than their bank is expected to take, the oldest first. Tiba keeps asking the bank.',
  id: 'Diproses lebih lama dari perkiraan bank, yang terlama lebih dulu. Tiba terus bertanya ke bank.',
};
const NO_OVERDUE: Text = { en: 'No transaction is overdue.', id: 'Tidak ada transaksi yang terlambat.' };
const LATE_BY: Text = { en: 'Late by', id: 'Lama terlambat' };

export function OverduePage() {
  const read = useResource(
    'overdue',
    (signal) => call('listOverdueTransactions', { query: { limit: LIMIT } }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.overdue)} lead={say(OVERDUE_LEAD)}>
      <Loaded resource={read}>
        {({ transactions, has_more: hasMore }) => (
          <>
            <Table
              caption={say(TEXTS.overdue)}
              rows={transactions}
              keyOf={(each) => `${each.client_id} ${each.transaction_id}`}
              empty={say(NO_OVERDUE)}
              columns={[
                transactionColumn(),
                {
                  title: say(LATE_BY),
                  isNumber: true,
                  cell: (each) => duration(Date.now() - Date.parse(each.overdue_since), language.value),
                },
                { title: say(TEXTS.overdueSince), isNumber: true, cell: (each) => <Time at={each.overdue_since} /> },
                amountColumn(),
                bankColumn(),
                clientColumn(),
                createdColumn(),
              ]}
            />
            {hasMore && <p class="empty">{say(TEXTS.more)}</p>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const REVIEWS_LEAD: Text = {
  en: 'Their bank has not known the transfer for an hour. The money may be on its way: ask the bank, do not resend.',
  id: 'Bank tidak mengenal transfer ini selama satu jam. Uang mungkin sedang dikirim: tanya bank, jangan kirim ulang.',
};
const NO_REVIEWS: Text = { en: 'No transaction is under review.', id: 'Tidak ada transaksi yang ditinjau.' };
const UNKNOWN_SINCE: Text = { en: 'Unknown since', id: 'Tidak dikenal sejak' };
const REVIEW_SINCE: Text = { en: 'In review since', id: 'Ditinjau sejak' };
const LAST_INQUIRED: Text = { en: 'Bank asked last', id: 'Bank terakhir ditanya' };

export function ReviewsPage() {
  const read = useResource(
    'reviews',
    (signal) => call('listTransactionsForReview', { query: { limit: LIMIT } }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.reviews)} lead={say(REVIEWS_LEAD)}>
      <Loaded resource={read}>
        {({ transactions, has_more: hasMore }) => (
          <>
            <Table
              caption={say(TEXTS.reviews)}
              rows={transactions}
              keyOf={(each) => `${each.client_id} ${each.transaction_id}`}
              empty={say(NO_REVIEWS)}
              columns={[
                transactionColumn(),
                clientColumn(),
                {
                  title: say(TEXTS.rail),
                  cell: (each) => (
                    <>
                      {each.rail}
                      <span class="below mono">{each.rail_reference}</span>
                    </>
                  ),
                },
                { title: say(REVIEW_SINCE), isNumber: true, cell: (each) => <Time at={each.review_since} /> },
                { title: say(UNKNOWN_SINCE), isNumber: true, cell: (each) => <Time at={each.unknown_since} /> },
                { title: say(LAST_INQUIRED), isNumber: true, cell: (each) => <Time at={each.last_inquired_at} /> },
                createdColumn(),
              ]}
            />
            {hasMore && <p class="empty">{say(TEXTS.more)}</p>}
          </>
        )}
      </Loaded>
    </Page>
  );
}
