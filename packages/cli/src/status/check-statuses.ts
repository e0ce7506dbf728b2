import type { TibaClient, Transaction } from '../../../client/src/index.ts';
import { isTibaError } from '../errors.ts';

/** What is known about one ID. */
export interface Found {
  /** As given. */
  readonly id: string;
  readonly transaction: Transaction | null;
  /** Why there is none. */
  readonly error: { readonly error_code: string; readonly message: string } | null;
}

/** The service takes as many at once. */
const BATCH_MAX = 100;

/** Looks all of them up, in their order: one as one request, many in batches. */
export async function* checkStatuses(
  client: TibaClient,
  ids: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly Found[], void, undefined> {
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) {
    yield [await checkOne(client, only, signal)];
    return;
  }
  for (let start = 0; start < ids.length; start += BATCH_MAX) {
    const { results } = await client.checkStatusBatch(ids.slice(start, start + BATCH_MAX), { signal });
    yield results.map((result) =>
      'transaction' in result
        ? { id: result.id, transaction: result.transaction, error: null }
        : { id: result.id, transaction: null, error: { error_code: result.error_code, message: result.message } },
    );
  }
}

async function checkOne(client: TibaClient, id: string, signal: AbortSignal): Promise<Found> {
  try {
    return { id, transaction: await client.checkStatus(id, { signal }), error: null };
  } catch (error) {
    if (!isTibaError(error)) throw error;
    const { error_code: code, message } = error;
    if (code !== 'TRANSACTION_NOT_FOUND' && code !== 'INVALID_TRANSACTION_ID') throw error;
    return { id, transaction: null, error: { error_code: code, message: message.replace(`${code}: `, '') } };
  }
}
