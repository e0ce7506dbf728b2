import { setTimeout as delay } from 'node:timers/promises';
import type { TibaClient, TibaError, Transaction } from '../../../client/src/index.ts';
import { isTibaError } from '../errors.ts';
import { duration } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import { checkStatuses, type Found } from './check-statuses.ts';

export interface WaitDependencies {
  readonly client: TibaClient;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Called with each result as soon as it is there. */
  readonly report: (found: readonly Found[]) => void;
}

/**
 * As many requests stay open at a time: the service bounds these, and other programs of this client need some too. More
 * transactions than this are polled in batches.
 */
const OPEN_MAX = 20;
/** The pace of the contract (docs/contract.md 8.1). */
const POLL_MS = 10_000;

/** Waits for the end of each. What is in PROCESS at the deadline is reported as that. */
export async function waitForAll(
  dependencies: WaitDependencies,
  open: readonly Found[],
  deadlineMs: number,
): Promise<void> {
  const { client, output, signal, report } = dependencies;
  const startedMs = Date.now();
  const count = open.length === 1 ? '' : `${open.length} of them: `;
  output.note(`${count}in PROCESS; waiting for up to ${duration(Math.max(0, deadlineMs - startedMs))}`);
  if (open.length > OPEN_MAX) {
    await pollAll(dependencies, open, deadlineMs);
    return;
  }
  await Promise.all(
    open.map(async (found) => {
      const transaction = await waitForOne(client, found, new Date(deadlineMs), signal);
      if (transaction.status === 'PROCESS') {
        output.note(`${found.id} is still in PROCESS: it has not failed, so do not pay again`);
      } else
        output.note(`${found.id} is ${plain(transaction.status)} after ${duration(Date.now() - startedMs)} of waiting`);
      report([{ ...found, transaction }]);
    }),
  );
}

/** Checks all that are open again and again, in batches. The last check is at the deadline. */
async function pollAll(
  { client, output, signal, report }: WaitDependencies,
  open: readonly Found[],
  deadlineMs: number,
): Promise<void> {
  let left = open;
  while (left.length > 0 && Date.now() < deadlineMs) {
    const pauseMs = Math.min(POLL_MS, deadlineMs - Date.now());
    await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const checked: Found[] = [];
    try {
      const ids = left.map(({ id, transaction }) => transaction?.transaction_id ?? id);
      for await (const found of checkStatuses(client, ids, signal)) checked.push(...found);
    } catch (error) {
      if (!mayPass(error)) throw error;
      output.note(`not connected: ${plain(error.message)}; checking again`);
      continue;
    }
    // In the order of the IDs, and reported by the IDs as they were given.
    const states = left.map((found, index) => ({
      ...found,
      transaction: checked[index]?.transaction ?? found.transaction,
    }));
    const isOpen = ({ transaction }: Found): boolean => transaction?.status === 'PROCESS';
    left = states.filter(isOpen);
    const ended = states.filter((found) => !isOpen(found));
    if (ended.length > 0) output.note(`${ended.length} have ended, ${left.length} are in PROCESS`);
    report(ended);
  }
  if (left.length > 0) output.note(`${left.length} are still in PROCESS: they have not failed, so do not pay again`);
  report(left);
}

const PASSING = new Set(['CONNECTION_FAILED', 'SERVICE_UNAVAILABLE', 'RATE_LIMIT_EXCEEDED', 'TIMEOUT']);
const mayPass = (error: unknown): error is TibaError => isTibaError(error) && PASSING.has(error.error_code);

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
