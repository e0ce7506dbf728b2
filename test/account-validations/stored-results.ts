import type { TestClient, TestService } from '../support/service.ts';

export interface StoredResults {
  readonly count: number;
  /** Each row has its number in front of it. */
  readonly expectedName?: string;
  readonly heldName?: string;
}

/** Stores a validation that has ended, with its results, as the service would. Returns its ID. */
export async function storeResultsOf(
  { app }: TestService,
  { clientId }: TestClient,
  { count, expectedName = 'BUDI SANTOSO', heldName = 'BUDI SANTOSO' }: StoredResults,
): Promise<string> {
  const [validation] = await app.database.query<{ validation_id: string }>(
    `insert into tiba.account_validations
       (client_id, validation_id, row_count, last_sequence, active_count, state, ended_at)
     values ($1, 'av_' || left(replace(gen_random_uuid()::text, '-', ''), 20), $2, $2, $2, 'COMPLETED', now())
     returning validation_id`,
    [clientId, count],
  );
  if (validation === undefined) throw new Error('no validation was stored');
  await app.database.query(
    `insert into tiba.account_validation_rows (client_id, validation_id, row_number, bank_code, account_number,
       expected_account_name, bic, state, sequence, result, account_name, checked_at)
     select $1, $2, each, 'BRI', lpad(each::text, 10, '0'), each || ' ' || $4, 'BRINIDJA', 'done', each, 'ACTIVE', $5,
            now()
       from generate_series(1, $3::int) as each`,
    [clientId, validation.validation_id, count, expectedName, heldName],
  );
  return validation.validation_id;
}
