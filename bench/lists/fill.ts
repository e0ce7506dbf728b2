import type { BenchContext } from '../bench-context.ts';
import type { BenchDatabase } from '../database/databases.ts';
import { fillInSteps } from '../database/fill-in-steps.ts';
import { CLIENT_ID } from '../database/prototypes.ts';

/** The latest transactions are the same in every database. What the filters find is among them. */
export const LATEST = 10_000;
/** Transactions in PROCESS: one in 50 of the latest ones. */
export const IN_PROCESS = 200;
/** To this account, 100 of the latest transactions. */
export const ACCOUNT = '77700010001';
/** The latest transaction was created then, and another one in each second before. */
export const END = '2026-11-01T00:00:00Z';

/** Creates a database of transactions that differ in what a client searches by. */
export const makeListDatabase = (context: BenchContext, name: string, rows: number): Promise<BenchDatabase> =>
  fillInSteps(context, { name, rows, sql: FILL, values: [rows - 1, CLIENT_ID] });

// `age` counts from the latest transaction, which is 0.
const FILL = `
insert into tiba.transactions
  (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code, bank_name, account_number,
   account_name, description, created_at, processed_at, failure_reason, version, expected_by, overdue_since, rendered)
select $4, transaction_id, reference_id, status, amount, 2500, 'IDR', bank_code, 'Bank ' || bank_code, account_number,
       'BUDI SANTOSO', 'Refund', created_at, processed_at, failure_reason, 1,
       case when status = 'PROCESS' then timestamptz '2099-11-21T05:02:26Z' end,
       case when status = 'PROCESS' and age > ${LATEST / 5} then created_at + interval '30 minutes' end,
       concat_ws(E'\\x02', amount, '2500.00', amount + 2500.00, to_json(created_at) #>> '{}',
                 coalesce(to_json(processed_at) #>> '{}', ''))
  from generate_series($1::bigint, $2::bigint) as number
  cross join lateral (select $3::bigint - number as age) as by_age
  cross join lateral (select
    'TB' || lpad(number::text, 12, '0') as transaction_id,
    'INV/2026/' || number as reference_id,
    case when age < ${LATEST} and age % 50 = 7 then 'PROCESS' when age % 20 = 3 then 'FAILED' else 'SUCCESS' end as status,
    (1000 + age * 7919 % 10000000)::numeric(20, 2) as amount,
    case when age % 200 = 11 then '147' when age % 5 < 2 then '014' else 'BMRIIDJA' end as bank_code,
    case when age < ${LATEST} and age % 100 = 1 then '${ACCOUNT}' else lpad((age * 7919 % 1000003)::text, 10, '0') end
      as account_number,
    timestamptz '${END}' - age * interval '1 second' as created_at) as made
  cross join lateral (select
    case when status <> 'PROCESS' then created_at + interval '5 seconds' end as processed_at,
    case when status = 'FAILED' then 'ACCOUNT_BLOCKED: The account is blocked' end as failure_reason) as ended`;
