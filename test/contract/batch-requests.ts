import assert from 'node:assert/strict';
import { type Answer, type RequestOptions, send, type TestService } from '../support/service.ts';
import { assertSuccess } from './assertions.ts';

export const BATCH_PATH = '/api/v1/check-status/batch';

/** POST to the batch form of check-status, by default as alpha. A string is sent as it is. */
export const checkStatusBatch = (
  service: TestService,
  body: unknown,
  { token = service.alpha.token, headers, method = 'POST' }: RequestOptions = {},
): Promise<Answer> =>
  send(service.url + BATCH_PATH, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export interface BatchResult {
  readonly id: string;
  readonly version?: number;
  readonly transaction?: Readonly<Record<string, unknown>>;
  readonly error_code?: string;
  readonly message?: string;
}

/** The results of a successful batch. */
export function resultsOf(answer: Answer): readonly BatchResult[] {
  const { results, ...others } = assertSuccess(answer);
  assert.deepEqual(others, {});
  return results as BatchResult[];
}

/** What each result is about: the transaction ID that was found, or the error code. */
export const outcomesOf = (answer: Answer): unknown[] =>
  resultsOf(answer).map(({ transaction, error_code }) => transaction?.['transaction_id'] ?? error_code);

/** IDs of no transaction. */
export const unknownIds = (count: number): string[] => Array.from({ length: count }, (_, index) => `NONE/${index}`);
