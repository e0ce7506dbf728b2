import type { TibaClient, Transaction } from '../../../client/src/index.ts';
import { isTibaError } from '../errors.ts';
import { duration } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import type { Found } from './check-statuses.ts';

export interface WaitDependencies {
  readonly client: TibaClient;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Called with each result as soon as it is there. */
  readonly report: (found: readonly Found[]) => void;
}

/** Each one is a request that stays open: the service bounds these, and other programs of this client need some too. */
const OPEN_MAX = 20;

/** Waits for the end of each. What is in PROCESS at the deadline is reported as that. */
export async function waitForAll(
  { client, output, signal, report }: WaitDependencies,
  open: readonly Found[],
  deadlineMs: number,
): Promise<void> {
  const startedMs = Date.now();
  const count = open.length === 1 ? '' : `${open.length} of them: `;
  output.note(`${count}in PROCESS; waiting for up to ${duration(deadlineMs - startedMs)}`);
  const queue = [...open];
  async function waitInTurn(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const transaction = await waitForOne(client, next, new Date(deadlineMs), signal);
      if (transaction.status === 'PROCESS') {
        output.note(`${next.id} is still in PROCESS: it has not failed, so do not pay again`);
      } else output.note(`${next.id} is ${transaction.status} after ${duration(Date.now() - startedMs)} of waiting`);
      report([{ ...next, transaction }]);
    }
  }
  await Promise.all(Array.from({ length: Math.min(OPEN_MAX, open.length) }, waitInTurn));
}

async function waitForOne(
  client: TibaClient,
  { id, transaction }: Found,
  deadline: Date,
  signal: AbortSignal,
): Promise<Transaction> {
  try {
    // By the transaction ID: it can only mean this one.
    return await client.waitForFinal(transaction?.transaction_id ?? id, { deadline, signal });
  } catch (error) {
    if (!isTibaError(error) || transaction === null) throw error;
    if (error.error_code === 'STILL_IN_PROCESS') return error.transaction;
    // The deadline came before the first answer.
    if (error.error_code === 'TIMEOUT') return transaction;
    throw error;
  }
}
