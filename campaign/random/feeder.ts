import type { CallerRequest } from './caller.ts';
import { createDraws, type Draws } from './draws.ts';
import { exchangeBytes } from './fuzz/raw-exchange.ts';
import { encodeRequest } from './fuzz/raw-requests.ts';
import { type KnownTransaction, REVERSED_AT } from './known-transactions.ts';
import type { RoundContext } from './round-context.ts';

const LINES_MAX = 40;
/** A status update that contradicts what is known, and two that are malformed. */
const REASON = 'ACCOUNT_BLOCKED';

interface Line {
  readonly kind: 'step' | 'conflict' | 'rejected';
  readonly transaction: KnownTransaction;
  readonly json: Record<string, unknown>;
}

/**
 * Feeds known transactions as a core does: their updates in order, and each batch again until it is acknowledged. What
 * is acknowledged must be stored. It ends when the load ends, after its last batch is acknowledged.
 */
export async function feedTransactions(context: RoundContext, number: number): Promise<void> {
  const { caller, tokens, record, known, loadEnds, settleEnds } = context;
  const draws = createDraws(context.seed, `feeder ${number}`);
  const own: KnownTransaction[] = [];
  while (!loadEnds.aborted) {
    const lines = drawLines();
    const request = feedRequest(lines);
    const wasCut = draws.chance(0.1);
    if (wasCut) await cutOff(context, request, draws);
    const answer = await caller.repeat(request, settleEnds);
    if (answer === null) return record.wrong('the feed is not acknowledged after the faults', `feeder ${number}`);
    if (answer.status !== 200) {
      record.wrong('the feed is refused', `${answer.status} ${answer.text}`);
      return;
    }
    for (const { kind, transaction } of lines) if (kind === 'step') transaction.acknowledged = transaction.sent;
    record.count('acknowledged status updates', lines.filter(({ kind }) => kind === 'step').length);
    judgeCounts(context, lines, { text: answer.text, wasRepeated: answer.wasRepeated || wasCut });
  }

  function drawLines(): Line[] {
    const lines: Line[] = [];
    const count = draws.between(1, LINES_MAX);
    const open = own.filter(({ plan, sent }) => sent < plan.length);
    for (let index = 0; index < count; index += 1) {
      const next = draws.chance(0.6) ? open.pop() : undefined;
      const transaction = next ?? known.add();
      if (next === undefined) own.push(transaction);
      transaction.sent += 1;
      lines.push({ kind: 'step', transaction, json: update(transaction, draws.chance(0.5)) });
    }
    const bad = lines.filter(() => draws.chance(0.05)).map(({ transaction }) => badLine(transaction));
    return [...lines, ...bad];
  }

  function badLine(transaction: KnownTransaction): Line {
    const json = update(transaction, true);
    if (draws.chance(0.5)) return { kind: 'conflict', transaction, json: { ...json, amount: '0.01', fee: '0.00' } };
    const flaw = draws.pick([{ amount: 'NaN' }, { status: 'MAYBE' }, { client_id: null }, { account_number: 'x' }]);
    return { kind: 'rejected', transaction, json: { ...json, ...flaw } };
  }

  function feedRequest(lines: readonly Line[]): CallerRequest {
    const isNdjson = draws.chance(0.5);
    const updates = lines.map(({ json }) => JSON.stringify(json));
    return {
      method: 'POST',
      listener: 'operator',
      target: '/feed/v1/transactions',
      headers: {
        authorization: `Bearer ${tokens.core}`,
        'content-type': isNdjson ? 'application/x-ndjson' : 'application/json',
      },
      body: isNdjson ? updates.join('\n') : `[${updates.join(',')}]`,
    };
  }
}

/** Sends a part of the feed and closes the connection: some of its lines may be applied. */
async function cutOff({ processes, record }: RoundContext, request: CallerRequest, draws: Draws): Promise<void> {
  const { body = '', headers = {}, method = 'POST', target } = request;
  const whole = encodeRequest({ listener: 'operator', method, target, headers, body });
  const bytes = whole.subarray(0, draws.between(whole.length - Buffer.byteLength(body), whole.length));
  await exchangeBytes(draws.pick(processes).operatorUrl, { bytes, targets: [], patienceMs: draws.between(1, 30) });
  record.count('feeds cut off');
}

/** The update of the last step that was sent. Later updates may repeat the details or leave them out. */
function update(transaction: KnownTransaction, complete: boolean): Record<string, unknown> {
  const { status, reversed } = transaction.plan[transaction.sent - 1] ?? { status: 'PROCESS', reversed: false };
  return {
    client_id: transaction.owner,
    transaction_id: transaction.transactionId,
    status,
    ...(status === 'FAILED' ? { failure_reason: REASON } : {}),
    ...(reversed ? { reversed_at: REVERSED_AT } : {}),
    ...(complete || transaction.sent === 1 ? details(transaction) : {}),
  };
}

const details = (transaction: KnownTransaction): Record<string, unknown> => ({
  reference_id: transaction.referenceId,
  amount: transaction.amount,
  fee: transaction.fee,
  bank_code: transaction.bankCode,
  account_number: transaction.accountNumber,
  account_name: transaction.accountName,
  description: 'campaign',
  created_at: transaction.createdAt,
  ...(transaction.railReference === null ? {} : { rail: 'bank', rail_reference: transaction.railReference }),
});

interface Counts {
  readonly inserted: number;
  readonly advanced: number;
  readonly unchanged: number;
  readonly conflicts: readonly unknown[];
  readonly rejected: readonly unknown[];
}

/** The acknowledgment counts every line once, and says of each what it is. */
function judgeCounts({ record }: RoundContext, lines: readonly Line[], answer: { text: string; wasRepeated: boolean }) {
  const { data } = JSON.parse(answer.text) as { readonly data: Counts };
  const count = (kind: Line['kind']): number => lines.filter((line) => line.kind === kind).length;
  const steps = lines.filter(({ kind }) => kind === 'step');
  const first = steps.filter(({ transaction }) => transaction.acknowledged === 1).length;
  // Without a repetition each step is new. After one, an earlier call may have applied some of them.
  const isRight =
    data.conflicts.length === count('conflict') &&
    data.rejected.length === count('rejected') &&
    data.inserted + data.advanced + data.unchanged === steps.length &&
    (answer.wasRepeated || (data.inserted === first && data.unchanged === 0));
  if (!isRight) record.wrong('an acknowledgment does not count what was sent', answer.text.slice(0, 600));
}
