import pg from 'pg';
import { type Answer, send, type TestService } from '../support/service.ts';

/** The audit records in the database, read with SQL of the test, and as the operator finds them. */

export interface StoredCheck extends Record<string, unknown> {
  readonly client_id: string;
  readonly bic: string;
  readonly outcome: string;
  readonly rail: string | null;
  readonly age_seconds: number | null;
  readonly request_id: string | null;
  /** The whole row as PostgreSQL prints it. */
  readonly whole: string;
}

export async function storedChecks(connection: pg.ClientConfig): Promise<StoredCheck[]> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<StoredCheck>(
      'select *, c::text as whole from tiba.account_checks c order by checked_at, check_id',
    );
    return rows;
  } finally {
    await client.end();
  }
}

/** POST to the operator listener's search. */
export const searchChecks = (service: TestService, token: string | null, body: unknown): Promise<Answer> =>
  send(`${service.operatorUrl}/operator/v1/account-checks/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });

export const checksIn = (answer: Answer): Record<string, unknown>[] =>
  answer.json.data?.['account_checks'] as Record<string, unknown>[];
