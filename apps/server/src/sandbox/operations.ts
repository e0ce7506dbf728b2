import { parseMoney } from '../domain/money.ts';
import { sendOperatorSuccess } from '../http/envelope.ts';
import { ApiError } from '../http/errors.ts';
import type { OperatorRoutes } from '../http/operator/operator-server.ts';
import { jsonObject } from '../http/request-body.ts';
import { englishOnly } from '../lib/bilingual-text.ts';
import { type JsonObject, numberText } from '../lib/exact-json.ts';
import { ownProperty } from '../lib/own-property.ts';
import { type DemoCore, InvalidDisbursement, type NewDisbursement } from './demo-core.ts';

/** The sandbox's routes on its operator listener. In production the disbursement core does this by other means. */
export const sandboxRoutes =
  (core: Pick<DemoCore, 'disburse' | 'advanceClock'>): OperatorRoutes =>
  (server, authorize) => {
    const onRequest = authorize({ scope: 'feed:write' });

    server.post('/sandbox/v1/disbursements', { onRequest, schema: { hide: true } }, async (request, reply) => {
      const disbursement = readDisbursement(jsonObject(request.body));
      const created = await core.disburse(disbursement).catch(rejectRequest);
      const data = {
        transaction_id: created.transactionId,
        reference_id: created.referenceId,
        client_id: disbursement.clientId,
        status: 'PROCESS',
        bank: created.bank,
      };
      return sendOperatorSuccess(reply.code(201), 'Disbursement created', JSON.stringify(data));
    });

    server.post('/sandbox/v1/clock', { onRequest, schema: { hide: true } }, async (request, reply) => {
      const seconds = Number(textOf(jsonObject(request.body), 'advance_seconds') ?? Number.NaN);
      const answer = await core.advanceClock(seconds).catch(rejectRequest);
      return sendOperatorSuccess(reply, "The bank's clock was advanced", answer);
    });
  };

const DEFAULTS = {
  client_id: 'demo-shop',
  amount: '150000.00',
  bank_code: '014',
  account_number: '1234567890',
  description: 'Made in the sandbox',
} as const;

/** Every field is optional. The feed validates the rest, as it does for every core. */
function readDisbursement(body: JsonObject): NewDisbursement {
  const text = (name: keyof typeof DEFAULTS): string => textOf(body, name) ?? DEFAULTS[name];
  const amount = parseMoney(text('amount'));
  if (amount === null)
    throw new ApiError('INVALID_REQUEST', { message: englishOnly('Invalid request: amount must be a plain decimal') });
  return {
    clientId: text('client_id'),
    referenceId: textOf(body, 'reference_id'),
    amount,
    bankCode: text('bank_code'),
    accountNumber: text('account_number'),
    accountName: textOf(body, 'account_name'),
    description: text('description'),
  };
}

function textOf(body: JsonObject, name: string): string | null {
  const value = ownProperty(body, name);
  if (value === undefined || value === null) return null;
  const text = typeof value === 'string' ? value : numberText(value);
  if (text !== undefined) return text;
  throw new ApiError('INVALID_REQUEST', { message: englishOnly(`Invalid request: ${name} must be a string`) });
}

function rejectRequest(error: unknown): never {
  if (error instanceof InvalidDisbursement)
    throw new ApiError('INVALID_REQUEST', { message: englishOnly(`Invalid request: ${error.message}`) });
  throw error;
}
