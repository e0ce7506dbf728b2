import { setTimeout as delay } from 'node:timers/promises';
import { OWNERS, type Owner } from './clients.ts';
import { createDraws } from './draws.ts';
import type { RawAnswer } from './judge-answer.ts';
import { type KnownTransaction, stateAfter } from './known-transactions.ts';
import { bearer, type RoundContext } from './round-context.ts';

const BATCH_MAX = 20;
const PAUSE_MS = 5;
/** A stream that has not ended by then is closed, and not judged. */
const STREAM_MS_MAX = 3_000;

/** Checks statuses as clients do, by every way that the API has, and judges what it reads against what was fed. */
export async function readStatuses(context: RoundContext, number: number): Promise<void> {
  const { known, loadEnds } = context;
  const draws = createDraws(context.seed, `status reader ${number}`);
  while (!loadEnds.aborted) {
    if (known.all.length > 0) {
      const transaction = draws.pick(known.all);
      const way = draws.pick(WAYS);
      if (way === 'batch') await readBatch(context, transaction.owner, draws.between(1, BATCH_MAX), draws.fraction());
      else if (way === 'other client') await readAsOther(context, transaction);
      else await readOne(context, transaction, way);
    }
    await delay(PAUSE_MS);
  }
}

const WAYS = ['path', 'path', 'reference path', 'query', 'batch', 'wait', 'stream', 'other client'] as const;
type Way = Exclude<(typeof WAYS)[number], 'batch' | 'other client'>;

const TARGETS: Readonly<Record<Way, (transaction: KnownTransaction) => string>> = {
  path: ({ transactionId }) => `/api/v1/check-status/${transactionId}`,
  wait: ({ transactionId }) => `/api/v1/check-status/${transactionId}`,
  stream: ({ transactionId }) => `/api/v1/check-status/${transactionId}`,
  'reference path': ({ referenceId }) => `/api/v1/check-status/${encodeURIComponent(referenceId)}`,
  query: ({ referenceId }) => `/api/v1/check-status?reference_id=${encodeURIComponent(referenceId)}`,
};
const HEADERS: Readonly<Partial<Record<Way, Readonly<Record<string, string>>>>> = {
  wait: { prefer: 'wait=2' },
  stream: { accept: 'text/event-stream' },
};

/** One status check, by one of the ways. */
export async function readOne(context: RoundContext, transaction: KnownTransaction, way: Way): Promise<void> {
  const { caller, tokens, record, loadEnds } = context;
  const before = snapshot(transaction);
  const target = TARGETS[way](transaction);
  const stream = { signal: AbortSignal.any([loadEnds, AbortSignal.timeout(STREAM_MS_MAX)]) };
  const answer = await caller.call({
    target,
    headers: { ...bearer(tokens[transaction.owner]), ...HEADERS[way] },
    ...(way === 'stream' ? stream : {}),
  });
  if (answer === null || answer.status === 503) return;
  if (way === 'stream' && answer.status === 200) return judgeStream(context, transaction, answer.text);
  if (answer.status === 404 && before.acknowledged === 0) return;
  if (answer.status !== 200) {
    record.wrong('an acknowledged transaction is not found', `${transaction.transactionId}: ${describe(answer)}`);
    return;
  }
  judgeTransaction(
    context,
    transaction,
    before,
    answer.text,
    Number(String(answer.headers['etag']).replaceAll('"', '')),
  );
}

async function readBatch(context: RoundContext, owner: Owner, count: number, from: number): Promise<void> {
  const { caller, tokens, known } = context;
  const own = known.all.filter((each) => each.owner === owner);
  const chosen = own.slice(Math.floor(from * own.length)).slice(0, count);
  if (chosen.length === 0) return;
  const before = chosen.map(snapshot);
  const answer = await caller.call({
    method: 'POST',
    target: '/api/v1/check-status/batch',
    headers: { ...bearer(tokens[owner]), 'content-type': 'application/json' },
    body: JSON.stringify({ ids: chosen.map(({ transactionId }) => transactionId) }),
  });
  if (answer?.status === 200) judgeBatch(context, chosen, before, answer);
}

interface Snapshot {
  readonly acknowledged: number;
  readonly seenVersion: number;
}

const snapshot = ({ acknowledged, seenVersion }: KnownTransaction): Snapshot => ({ acknowledged, seenVersion });

/** Every result of a batch, each transaction as check-status gives it. */
export function judgeBatch(
  context: RoundContext,
  chosen: readonly KnownTransaction[],
  before: readonly Snapshot[],
  { text }: RawAnswer,
): void {
  // A transaction has no nested object.
  const results = [
    ...text.matchAll(/\{"id":"(\w+)",(?:"version":(\d+),"transaction":(\{[^}]*\})|"error_code":"(\w+)")/g),
  ];
  if (results.length !== chosen.length) context.record.wrong('a batch lacks results', text.slice(0, 500));
  for (const [index, transaction] of chosen.entries()) {
    const [, id, version, json, errorCode] = results[index] ?? [];
    const state = before[index] ?? { acknowledged: 0, seenVersion: 0 };
    if (id !== transaction.transactionId) context.record.wrong('a batch is out of order', text.slice(0, 500));
    else if (json !== undefined) judgeTransaction(context, transaction, state, json, Number(version));
    else if (state.acknowledged > 0)
      context.record.wrong('an acknowledged transaction is not found', `${id} in a batch: ${errorCode}`);
  }
}

/** One answer: the transaction as it was fed, in a state between what was acknowledged before and what is sent now. */
function judgeTransaction(
  { record }: RoundContext,
  transaction: KnownTransaction,
  before: Snapshot,
  text: string,
  version: number,
): void {
  const details = `${transaction.transactionId}, version ${version}: ${text.slice(0, 700)}`;
  const status = /"status":"(\w+)"/.exec(text)?.[1];
  let isPossible = false;
  for (let steps = Math.max(1, before.acknowledged); steps <= transaction.sent; steps += 1) {
    const state = stateAfter(transaction, steps);
    if (state?.status === status && state?.version === version) isPossible = true;
  }
  if (!isPossible) record.wrong('a status is not one that was fed', `${JSON.stringify(before)} ${details}`);
  if (version < before.seenVersion) record.wrong('a version goes back', `from ${before.seenVersion}: ${details}`);
  transaction.seenVersion = Math.max(transaction.seenVersion, version);
  for (const fact of factsOf(transaction)) {
    if (!text.includes(fact)) record.wrong('a transaction is not as it was fed', `${fact} is missing in ${details}`);
  }
}

/** Parts of the JSON text, so that amounts are compared digit by digit. */
function factsOf(transaction: KnownTransaction): string[] {
  const { amount, fee, accountNumber, accountName } = transaction;
  return [
    `"transaction_id":"${transaction.transactionId}"`,
    `"reference_id":${JSON.stringify(transaction.referenceId)}`,
    `"amount":${amount},`,
    `"fee":${fee},`,
    `"total_amount":${plus(amount, fee)},`,
    `"account_number":"${accountNumber}"`,
    `"account_name":"${accountName}"`,
  ];
}

function plus(one: string, other: string): string {
  const cents = String(BigInt(one.replace('.', '')) + BigInt(other.replace('.', ''))).padStart(3, '0');
  return `${cents.slice(0, -2)}.${cents.slice(-2)}`;
}

/** The versions of a stream rise. It may end early, with its process. */
function judgeStream({ record }: RoundContext, transaction: KnownTransaction, text: string): void {
  const versions = [...text.matchAll(/^id: ?(\d+)$/gm)].map(([, id]) => Number(id));
  const isRising = versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0));
  if (!isRising)
    record.wrong('the versions of a stream do not rise', `${transaction.transactionId}: ${versions.join()}`);
}

/** Another client's transaction must look like one that does not exist. */
async function readAsOther({ caller, tokens, record }: RoundContext, transaction: KnownTransaction): Promise<void> {
  const other = OWNERS.find((owner) => owner !== transaction.owner) ?? 'beta';
  const answer = await caller.call({ target: TARGETS.path(transaction), headers: bearer(tokens[other]) });
  if (answer === null || answer.status === 503 || answer.status === 404) return;
  record.wrong("a client reads another client's transaction", describe(answer));
}

const describe = ({ status, text }: RawAnswer): string => `${status} ${text.slice(0, 500)}`;
