import type { FastifyInstance } from 'fastify';
import { isReferenceId } from '../../domain/identifiers.ts';
import type { BilingualText, Language } from '../../lib/bilingual-text.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { FoundTransaction, TransactionLookUp } from '../../postgres/transaction-look-up.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { languageOf } from '../language.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import type { CountCost } from '../request-cost.ts';
import { checkStatusBatchSchema, IDS_MAX, IDS_PER_COUNTED_REQUEST, TRANSACTIONS_CHECKED } from './schema.ts';
import { type RetryAfter, renderedIn } from './transaction-answer.ts';

export interface CheckStatusBatchDependencies {
  readonly authorize: Authorize;
  readonly countCost: CountCost;
  readonly lookUp: Pick<TransactionLookUp, 'findAll'>;
  readonly retryAfter: RetryAfter;
}

/** 100 reference IDs of 128 characters take 150 KiB when each character is escaped as a surrogate pair (12 bytes). */
const BODY_BYTES_MAX = 160 * 1024;

/** docs/contract.md 4.4. */
export function checkStatusBatch(
  app: FastifyInstance,
  { authorize, countCost, lookUp, retryAfter }: CheckStatusBatchDependencies,
): void {
  const options = {
    onRequest: [authorize({ scope: 'status:read', limitedOperation: 'check-status' }), requireJson],
    bodyLimit: BODY_BYTES_MAX,
    config: { readsStringsOnly: true } as const,
    schema: checkStatusBatchSchema,
  };

  app.post('/api/v1/check-status/batch', options, async (request, reply) => {
    const ids = idsOf(request.body);
    await countCost(request, reply, Math.ceil(ids.length / IDS_PER_COUNTED_REQUEST));
    const found = await findAll(lookUp, callerOf(request).client.clientId, ids);
    request.logFields = { ids: ids.length, found: ids.filter((id) => Boolean(found.get(id))).length };
    const soonest = soonestRetry(found, retryAfter);
    if (soonest !== null) reply.header('retry-after', soonest);
    const language = languageOf(request);
    const results = ids.map((id) => resultJson(id, found.get(id), language));
    return sendSuccess(reply, TRANSACTIONS_CHECKED, `{"results":[${results.join()}]}`);
  });
}

/** @throws ApiError INVALID_FORMAT */
function idsOf(body: unknown): readonly string[] {
  const ids = ownProperty(jsonObject(body), 'ids');
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > IDS_MAX) {
    throw invalidIds({
      en: `ids must be an array of 1 to ${IDS_MAX} transaction IDs or reference IDs`,
      id: `ids harus berupa array berisi 1 sampai ${IDS_MAX} ID transaksi atau ID referensi`,
    });
  }
  const wrong = ids.findIndex((id) => typeof id !== 'string');
  if (wrong !== -1) {
    throw invalidIds({ en: `ids[${wrong}] must be a string`, id: `ids[${wrong}] harus berupa string` });
  }
  return ids as string[];
}

const invalidIds = ({ en, id }: BilingualText): ApiError =>
  new ApiError('INVALID_FORMAT', { message: { en: `Invalid format: ${en}`, id: `Format tidak valid: ${id}` } });

/** By ID: the transaction, or null where there is none. An ID that is not valid has no entry. */
type Found = ReadonlyMap<string, FoundTransaction | null>;

async function findAll(lookUp: Pick<TransactionLookUp, 'findAll'>, clientId: string, ids: readonly string[]) {
  const valid = [...new Set(ids)].filter(isReferenceId);
  const found = await lookUp.findAll(clientId, valid);
  return new Map(valid.map((id, index) => [id, found[index] ?? null]));
}

/** The shortest time after which one of the transactions in PROCESS is worth another request; null if none is. */
function soonestRetry(found: Found, retryAfter: RetryAfter): string | null {
  let soonest = Number.POSITIVE_INFINITY;
  for (const each of found.values()) {
    if (each !== null && each.progress !== 'final') soonest = Math.min(soonest, Number(retryAfter(each.rendered)));
  }
  return soonest === Number.POSITIVE_INFINITY ? null : String(soonest);
}

/** A transaction is copied as check-status answers it, byte for byte. */
function resultJson(id: string, transaction: FoundTransaction | null | undefined, language: Language): string {
  const start = `{"id":${JSON.stringify(id)},`;
  if (transaction === undefined) return start + INVALID[language];
  if (transaction === null) return start + NOT_FOUND[language];
  return `${start}"version":${transaction.version},"transaction":${renderedIn(language, transaction.rendered)}}`;
}

/** The end of a result without a transaction. */
function errorResult(code: ErrorCode, { en, id }: BilingualText): Readonly<Record<Language, string>> {
  const end = (message: string): string => JSON.stringify({ error_code: code, message }).slice(1);
  return { en: end(en), id: end(id) };
}

const NOT_FOUND = errorResult('TRANSACTION_NOT_FOUND', new ApiError('TRANSACTION_NOT_FOUND').text);
const INVALID = errorResult('INVALID_TRANSACTION_ID', {
  en: 'Invalid transaction ID format: an ID has 1 to 128 characters, none of them a control character',
  id: 'Format ID transaksi tidak valid: ID terdiri dari 1 sampai 128 karakter, tanpa karakter kontrol',
});
