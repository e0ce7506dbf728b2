import { setTimeout as delay } from 'node:timers/promises';
import { addHolder, type DrawnAccount, drawAccount, rightVerdict } from './account-checker.ts';
import { createDraws, type Draws } from './draws.ts';
import { bearer, type RoundContext } from './round-context.ts';

const ROWS_MAX = 30;
const PAUSE_MS = 1_500;
const POLL_MS = 100;

interface Row extends DrawnAccount {
  /** Its account number has letters. */
  readonly isInvalid: boolean;
}

interface Validation {
  readonly validationId: string;
  readonly rows: readonly Row[];
}

/** Creates bulk validations during the faults. The function that it returns waits for their ends and judges them. */
export async function validateInBulk(context: RoundContext): Promise<() => Promise<void>> {
  const { loadEnds } = context;
  const draws = createDraws(context.seed, 'bulk validator');
  const validations: Validation[] = [];
  while (!loadEnds.aborted) {
    const validation = await create(context, draws, `campaign-${validations.length}`);
    if (validation !== null) validations.push(validation);
    await delay(PAUSE_MS, undefined, { signal: loadEnds }).catch(() => {});
  }
  return async () => {
    for (const validation of validations) await judgeValidation(context, validation);
  };
}

async function create(context: RoundContext, draws: Draws, key: string): Promise<Validation | null> {
  const { caller, tokens, record, settleEnds } = context;
  const rows = Array.from({ length: draws.between(1, ROWS_MAX) }, (): Row => {
    const account = drawAccount(draws, context);
    return draws.chance(0.1)
      ? { ...account, accountNumber: `${account.accountNumber}x`, isInvalid: true }
      : { ...account, isInvalid: false };
  });
  const repeated = rows[0];
  if (repeated !== undefined && draws.chance(0.3)) rows.push(repeated);
  const isCsv = draws.chance(0.5);
  const answer = await caller.repeat(
    {
      method: 'POST',
      target: '/api/v1/account-validations',
      headers: {
        ...bearer(tokens.beta),
        'content-type': isCsv ? 'text/csv' : 'application/json',
        'idempotency-key': key,
      },
      body: isCsv ? csvOf(rows) : JSON.stringify({ accounts: rows.map(jsonOf) }),
    },
    settleEnds,
  );
  // Ten may run at a time, which a bank that hangs can fill.
  if (answer === null || answer.status === 409) return null;
  if (answer.status !== 202) {
    record.wrong('a bulk validation is refused', `${answer.status} ${answer.text}`);
    return null;
  }
  record.count('bulk validations');
  const { data } = JSON.parse(answer.text) as { readonly data: { readonly validation_id: string } };
  return { validationId: data.validation_id, rows };
}

const jsonOf = ({ bankCode, accountNumber }: Row) => ({ bank_code: bankCode, account_number: accountNumber });

const csvOf = (rows: readonly Row[]): string =>
  ['bank_code,account_number', ...rows.map((row) => `${row.bankCode},${row.accountNumber}`), ''].join('\n');

interface Result {
  readonly sequence: number;
  readonly row: number;
  readonly status: string | null;
  readonly account_name: string | null;
  readonly error_code: string | null;
}

async function judgeValidation(context: RoundContext, { validationId, rows }: Validation): Promise<void> {
  const { caller, tokens, record, settleEnds } = context;
  const target = `/api/v1/account-validations/${validationId}`;
  const headers = bearer(tokens.beta);
  for (;;) {
    const answer = await caller.repeat({ target, headers }, settleEnds);
    if (answer === null) return record.wrong('a bulk validation does not end', validationId);
    if (answer.text.includes('"state":"COMPLETED"') || answer.text.includes('"status":"COMPLETED"')) break;
    await delay(POLL_MS);
  }
  const answer = await caller.repeat({ target: `${target}/results?limit=1000`, headers }, settleEnds);
  if (answer === null) return;
  const { results } = (JSON.parse(answer.text) as { readonly data: { readonly results: Result[] } }).data;
  judgeResults(context, rows, results);
}

/** Each row is answered once, with the right verdict or none. */
function judgeResults({ record, canaries }: RoundContext, rows: readonly Row[], results: readonly Result[]): void {
  const isNumbered = results.every(({ sequence }, index) => sequence === index + 1);
  const answered = new Set(results.map(({ row }) => row));
  if (!isNumbered || answered.size !== rows.length || results.length !== rows.length)
    record.wrong('a bulk validation does not answer each row once', JSON.stringify(results).slice(0, 800));
  // In a CSV line 1 is the header.
  const first = Math.min(...answered);
  for (const result of results) {
    const row = rows[result.row - first];
    if (row === undefined) continue;
    const right = row.isInvalid ? null : rightVerdict(row);
    addHolder(canaries, right);
    const isRight = row.isInvalid
      ? result.error_code === 'INVALID_FORMAT'
      : result.error_code === 'SERVICE_UNAVAILABLE' ||
        (result.status === right?.status && result.account_name === right.holder);
    if (!isRight) record.wrong('a bulk validation gives a wrong result', JSON.stringify({ row, result, right }));
  }
}
