import { type Call, toCall } from './call.ts';
import { type Clock, pause } from './clock.ts';
import type {
  AccountValidation,
  AccountValidationList,
  AccountValidationProgress,
  AccountValidationResult,
  AccountValidationResultList,
  NewAccountValidation,
  Operations,
} from './generated/api.ts';
import type { CallOptions, Transport } from './transport.ts';

/** A table in place of a list of accounts. */
export type TableUpload = { readonly csv: string | Blob } | { readonly xlsx: Blob };

export interface CreateOptions extends CallOptions {
  /**
   * The same key and the same accounts give the same validation, also after a crash: choose one that you would choose
   * again, such as `payroll-2026-11`. A random one unless given, which only covers repetitions of this call.
   */
  readonly idempotencyKey?: string | undefined;
}

export type ResultsQuery = Omit<Operations['listAccountValidationResults']['query'], 'follow'>;

export interface ResultsOptions extends CallOptions {
  /** Only results after this `sequence`. */
  readonly after?: number | undefined;
  /** Go on until the validation has ended and no inquiry is in flight. */
  readonly follow?: boolean | undefined;
}

export interface AccountValidations {
  /** Begins to check up to 50,000 accounts. Safe to repeat. */
  create(accounts: NewAccountValidation | TableUpload, options?: CreateOptions): Call<AccountValidation>;
  get(validationId: string, options?: CallOptions): Call<AccountValidationProgress>;
  list(query?: Operations['listAccountValidations']['query'], options?: CallOptions): Call<AccountValidationList>;
  cancel(validationId: string, options?: CallOptions): Call<AccountValidation>;
  /** Results in the order in which they were recorded, each once. */
  results(validationId: string, options?: ResultsOptions): AsyncGenerator<AccountValidationResult, void, undefined>;
  resultsPage(validationId: string, query?: ResultsQuery, options?: CallOptions): Call<AccountValidationResultList>;
}

/** All requests about validations share a limit of 120 a minute. */
const FOLLOW_MS = 2_000;
const PAGE_MAX = 1_000;
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

export function createAccountValidations(transport: Transport, clock: Clock): AccountValidations {
  const resultsPage: AccountValidations['resultsPage'] = (id, query, options) =>
    toCall(transport.json({ operation: 'listAccountValidationResults', path: { validation_id: id }, query }, options));
  const get: AccountValidations['get'] = (id, options) =>
    toCall(transport.json({ operation: 'getAccountValidation', path: { validation_id: id } }, options));

  return {
    get,
    resultsPage,
    create(accounts, { idempotencyKey = crypto.randomUUID(), ...options } = {}) {
      const { body, type } = uploadOf(accounts);
      const headers = { 'idempotency-key': idempotencyKey, 'content-type': type };
      return toCall(transport.json({ operation: 'createAccountValidation', body, headers }, options));
    },
    list: (query, options) => toCall(transport.json({ operation: 'listAccountValidations', query }, options)),
    cancel: (id, options) =>
      toCall(transport.json({ operation: 'cancelAccountValidation', path: { validation_id: id } }, options)),
    async *results(id, { after: first = 0, follow = false, ...options } = {}) {
      for (let after = first; ; ) {
        // Before the page: whatever was recorded until the end is on it, or on the next one.
        const ended = !follow || !mayGetResults(await get(id, options));
        const page = await resultsPage(id, { after, limit: PAGE_MAX }, options);
        yield* page.results;
        after = page.next_after;
        if (page.has_more) continue;
        if (ended) return;
        await pause(clock, FOLLOW_MS, options.signal ?? new AbortController().signal);
      }
    },
  };
}

/** A cancelled validation still gets the results of the inquiries in flight. */
const mayGetResults = ({ state, in_flight: inFlight }: AccountValidationProgress): boolean =>
  state === 'RUNNING' || inFlight > 0;

function uploadOf(accounts: NewAccountValidation | TableUpload): {
  readonly body: string | Blob;
  readonly type: string;
} {
  if ('csv' in accounts) return { body: accounts.csv, type: 'text/csv' };
  if ('xlsx' in accounts) return { body: accounts.xlsx, type: XLSX };
  return { body: JSON.stringify(accounts), type: 'application/json' };
}
