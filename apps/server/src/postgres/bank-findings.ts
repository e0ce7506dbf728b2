import { tableFromParameters, toColumnParameters } from './bulk-parameters.ts';
import type { Database } from './database.ts';
import type { NotificationHandler } from './notifications.ts';

/** What one process has found about one bank over one rail. */
export interface StoredFinding {
  readonly rail: string;
  /** Eight characters. */
  readonly bic: string;
  /** Whether the bank fails; otherwise it answers, although it fails another process. */
  readonly isFailing: boolean;
  /** With a failing bank, the only client whose inquiries fail; null when those of several do. */
  readonly clientId: string | null;
  /** How long the bank has been failing, or how long ago it last answered. An age, because clocks differ. */
  readonly ageMs: number;
}

/** Notifies all processes that the findings of one have changed. */
export const FINDINGS_CHANNEL = 'tiba_bank_findings';

export interface BankFindingNotices extends NotificationHandler {
  /** Calls `onChange` when findings have changed, or may have. There is one subscriber, which never unsubscribes. */
  subscribe(onChange: () => void): void;
}

export function createBankFindingNotices(): BankFindingNotices {
  let notify = (): void => {};
  return {
    subscribe(onChange) {
      notify = onChange;
    },
    onNotification: () => notify(),
    onConnected: () => notify(),
  };
}

/** A bank that goes on answering is stored again after this time, so that the others know. */
const ANSWER_STEP_SECONDS = 5;
const COLUMNS = ['rail', 'bic', 'failing', 'client_id', 'age_ms'] as const;

const STORE_SQL = `
with given as (
  select rail, bic, failing::boolean as failing, nullif(client_id, '') as client_id,
         now() - age_ms::float8 * interval '1 millisecond' as found_at
    from ${tableFromParameters(COLUMNS)}
), removed as (
  delete from tiba.bank_findings f
   where process_id = $6 and not exists (select from given g where g.rail = f.rail and g.bic = f.bic)
  returning rail
), stored as (
  insert into tiba.bank_findings as f (process_id, rail, bic, failing, client_id, found_at)
  select p.process_id, g.rail, g.bic, g.failing, g.client_id, g.found_at
    from given g join tiba.processes p on p.process_id = $6
      on conflict (process_id, rail, bic) do update
     set failing = excluded.failing, client_id = excluded.client_id, found_at = excluded.found_at
   where (f.failing, f.client_id) is distinct from (excluded.failing, excluded.client_id)
      or abs(extract(epoch from excluded.found_at - f.found_at)) >= ${ANSWER_STEP_SECONDS}
  returning rail
)
select pg_notify('${FINDINGS_CHANNEL}', '') from (table removed union all table stored) as changed limit 1`;

/** Replaces all findings of a process, and notifies the others of what has changed. */
export async function storeBankFindings(
  database: Database,
  processId: string,
  findings: readonly StoredFinding[],
): Promise<void> {
  const rows = findings.map(({ rail, bic, isFailing, clientId, ageMs }) => ({
    rail,
    bic,
    failing: String(isFailing),
    client_id: clientId,
    age_ms: String(ageMs),
  }));
  await database.query(STORE_SQL, [...toColumnParameters(COLUMNS, rows), processId], 'store-bank-findings');
}

/** The findings of all other processes. */
export const listBankFindings = (database: Database, processId: string): Promise<StoredFinding[]> =>
  database.query<StoredFinding & Record<string, unknown>>(
    `select rail, bic, failing as "isFailing", client_id as "clientId",
            greatest(extract(epoch from now() - found_at) * 1000, 0)::float8 as "ageMs"
       from tiba.bank_findings
      where process_id <> $1`,
    [processId],
    'list-bank-findings',
  );
