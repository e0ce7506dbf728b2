import { type AnswerCache, createAnswerCache } from './cache.ts';
import { type Call, toCall, type WithResponse } from './call.ts';
import type { Clock } from './clock.ts';
import type { BatchResults, Transaction } from './generated/api.ts';
import type { CallOptions, Transport } from './transport.ts';

export interface StatusChecks {
  /** By transaction ID or reference ID. A final transaction is remembered and not fetched again. */
  checkStatus(id: string, options?: CallOptions): Call<Transaction>;
  /** By reference ID only. */
  checkStatusByReference(referenceId: string, options?: CallOptions): Call<Transaction>;
  /** Up to 100 IDs at once, in their order: test each result for `error_code`. Counts as one request for 10 IDs. */
  checkStatusBatch(ids: readonly string[], options?: CallOptions): Call<BatchResults>;
}

/** `SUCCESS` and `FAILED` never change (docs/contract.md 3.1). */
export type FinalTransactions = AnswerCache<Transaction>;

export const isFinal = ({ status }: Transaction): boolean => status === 'SUCCESS' || status === 'FAILED';

/** The batch that counts as one request. */
const IDS_OF_ONE_REQUEST = 10;
const TRANSACTION_ID = /^[A-Z]{2,10}\d{6,32}$/;

export const createFinalTransactions = (clock: Clock, entriesMax: number): FinalTransactions =>
  createAnswerCache(clock, entriesMax);

/** The key under which an ID is remembered. */
export const anyKey = (id: string): string => `any ${id}`;
const referenceKey = (referenceId: string): string => `reference ${referenceId}`;

/** Remembers a final transaction under every ID that can only mean this one. */
export function rememberFinal(finals: FinalTransactions, answer: WithResponse<Transaction>): void {
  const { transaction_id: transactionId, reference_id: referenceId } = answer.data;
  if (!isFinal(answer.data)) return;
  finals.keep(anyKey(transactionId), answer);
  finals.keep(referenceKey(referenceId), answer);
  // Another transaction could get this ID as its transaction ID, which is looked up first.
  if (!TRANSACTION_ID.test(referenceId)) finals.keep(anyKey(referenceId), answer);
}

export function createStatusChecks(transport: Transport, finals: FinalTransactions): StatusChecks {
  async function remembered(
    key: string,
    fetchNow: () => Promise<WithResponse<Transaction>>,
  ): Promise<WithResponse<Transaction>> {
    const known = finals.find(key);
    if (known !== null) return known;
    const answer = await fetchNow();
    rememberFinal(finals, answer);
    return answer;
  }

  return {
    checkStatus: (id, options) =>
      toCall(
        remembered(anyKey(id), () =>
          transport.json({ operation: 'checkStatus', path: { transaction_id: id } }, options),
        ),
      ),
    checkStatusByReference: (referenceId, options) =>
      toCall(
        remembered(referenceKey(referenceId), () =>
          transport.json({ operation: 'checkStatusByReference', query: { reference_id: referenceId } }, options),
        ),
      ),
    checkStatusBatch: (ids, options) =>
      toCall(
        transport.json(
          {
            operation: 'checkStatusBatch',
            body: JSON.stringify({ ids }),
            cost: Math.max(1, Math.ceil(ids.length / IDS_OF_ONE_REQUEST)),
          },
          options,
        ),
      ),
  };
}
