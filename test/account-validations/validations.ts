import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import { type Answer, send } from '../support/requests.ts';
import type { TestClient, TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

export interface SentRow {
  readonly bank_code?: unknown;
  readonly account_number?: unknown;
  readonly expected_account_name?: unknown;
  readonly reference?: unknown;
}

export interface Validation extends Record<string, unknown> {
  readonly validation_id: string;
  readonly state: string;
  readonly rows: number;
  readonly results: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly waiting: readonly Readonly<Record<string, unknown>>[];
}

export interface Result extends Record<string, unknown> {
  readonly sequence: number;
  readonly row: number;
  readonly status: string | null;
  readonly error_code: string | null;
}

/** A client of the service, with helpers for its account validations. */
export function validationsOf(service: TestService, client: TestClient = service.alpha) {
  const path = (id: string): string => `/api/v1/account-validations/${id}`;

  const post = (where: string, body?: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
    send(service.url + where, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.token}`, ...headers },
      ...(body === undefined ? {} : { body }),
    });

  const sendRows = (rows: readonly SentRow[], headers: Record<string, string> = {}): Promise<Answer> =>
    post('/api/v1/account-validations', JSON.stringify({ accounts: rows }), {
      'content-type': 'application/json',
      ...headers,
    });

  const read = (id: string, suffix = '', accept = 'application/json'): Promise<Answer> =>
    service.get(path(id) + suffix, { token: client.token, headers: { accept } });

  const progress = async (id: string): Promise<Validation> => dataOf<Validation>(await read(id));

  return {
    post,
    sendRows,
    read,
    progress,
    async create(rows: readonly SentRow[]): Promise<string> {
      const answer = await sendRows(rows);
      assert.equal(answer.status, 202, answer.text);
      return dataOf<Validation>(answer).validation_id;
    },
    cancel: (id: string): Promise<Answer> => post(`${path(id)}/cancel`),
    async untilEnded(id: string): Promise<Validation> {
      await eventually(
        'the validation has ended',
        async () => (await progress(id)).state !== 'RUNNING',
        timeLimitMs(30_000),
      );
      return progress(id);
    },
    async results(id: string): Promise<Result[]> {
      const { text } = await read(id, '/results', 'application/x-ndjson');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Result);
    },
  };
}

/** The data of an answer. The caller states its type. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export const dataOf = <T>({ json, text }: Answer): T => {
  assert.ok(json.data !== undefined, text);
  return json.data as T;
};
