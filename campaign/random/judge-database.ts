import pg from 'pg';
import { OWNERS } from './clients.ts';
import { eventsAfter, type KnownTransaction, stateAfter } from './known-transactions.ts';
import type { RoundContext } from './round-context.ts';
import { judgeBatch } from './status-reader.ts';

/** A transaction in the database, and how many of its status updates had which outcome. */
export interface StoredRow {
  readonly client_id: string;
  readonly transaction_id: string;
  readonly status: string;
  readonly version: number;
  readonly amount: string;
  readonly inserted: number;
  readonly moved: number;
}

const STORED = `
  select t.client_id, t.transaction_id, t.status, t.version, t.amount::text,
         count(*) filter (where u.outcome = 'inserted')::int as inserted,
         count(*) filter (where u.outcome in ('advanced', 'reversed'))::int as moved
    from tiba.transactions t left join tiba.status_updates u using (client_id, transaction_id)
   where t.client_id = any ($1) group by 1, 2, 3, 4, 5`;

/** Compares the tables with what was fed: each acknowledged line is stored exactly once, with what follows from it. */
export async function judgeDatabase(context: RoundContext, connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<StoredRow>(STORED, [[...OWNERS]]);
    judgeStored(context, rows);
  } finally {
    await client.end();
  }
}

export function judgeStored({ known, record }: Pick<RoundContext, 'known' | 'record'>, rows: readonly StoredRow[]) {
  const stored = new Map(rows.map((row) => [row.transaction_id, row]));
  for (const transaction of known.all) {
    if (transaction.acknowledged === 0) continue;
    const row = stored.get(transaction.transactionId);
    stored.delete(transaction.transactionId);
    const expected = expectedRow(transaction);
    const { client_id: _, ...found } = row ?? { client_id: null };
    if (row?.client_id !== transaction.owner || JSON.stringify(found) !== JSON.stringify(expected))
      record.wrong(
        'an acknowledged status update is not stored exactly once',
        JSON.stringify({ expected, found: row }),
      );
  }
  if (stored.size > 0)
    record.wrong('a transaction is stored that was never fed', [...stored.keys()].slice(0, 10).join());
  record.count('transactions', rows.length);
}

/** The row of a transaction whose steps are all acknowledged that were sent. */
function expectedRow(transaction: KnownTransaction): Omit<StoredRow, 'client_id'> {
  const { transactionId, acknowledged, amount } = transaction;
  const state = stateAfter(transaction, acknowledged);
  return {
    transaction_id: transactionId,
    status: state?.status ?? '',
    version: state?.version ?? 0,
    amount,
    inserted: 1,
    moved: eventsAfter(transaction, acknowledged).length - (transaction.plan[0]?.status === 'PROCESS' ? 0 : 1),
  };
}

const BATCH = 100;

/** Reads every transaction once more over HTTP, from each process. */
export async function judgeEveryStatus(context: RoundContext): Promise<void> {
  const { caller, tokens, known, processes, settleEnds, record } = context;
  for (const owner of OWNERS) {
    const own = known.all.filter((each) => each.owner === owner && each.acknowledged > 0);
    for (let index = 0; index < own.length; index += BATCH) {
      const chosen = own.slice(index, index + BATCH);
      const process = processes[(index / BATCH) % processes.length];
      const answer = await caller.repeat(
        {
          method: 'POST',
          target: '/api/v1/check-status/batch',
          headers: { authorization: `Bearer ${tokens[owner]}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ids: chosen.map(({ transactionId }) => transactionId) }),
          ...(process === undefined ? {} : { process }),
        },
        settleEnds,
      );
      if (answer?.status === 200) judgeBatch(context, chosen, chosen, answer);
      else record.wrong('the statuses cannot be read after the faults', `${answer?.status} ${answer?.text}`);
    }
  }
}
