import { isIPv4 } from 'node:net';
import { OWN_BIC } from './accounts.ts';
import type { Bank } from './bank.ts';
import { type BankResponse, type JsonObject, jsonResponse, parseObject } from './http.ts';
import { formatJakartaTime } from './time.ts';

/** Handles a body; null when it was longer than `BODY_BYTES_MAX`. */
export type SimulationOperation = (bank: Bank, contentType: string, body: Buffer | null) => BankResponse;

/** Operations of the simulation, for callers on this machine. Real banks have no such thing. */
const OPERATIONS: Readonly<Record<string, (bank: Bank, fields: JsonObject) => BankResponse>> = {
  '/simulation/clock': advanceClock,
  '/simulation/transfers': orderTransfer,
};

export function findSimulationOperation(path: string): SimulationOperation | undefined {
  const operation = Object.hasOwn(OPERATIONS, path) ? OPERATIONS[path] : undefined;
  if (operation === undefined) return undefined;
  return (bank, contentType, body) =>
    // A web page can send other content types to any address without a CORS preflight, but not this one.
    /^application\/json(?:\s*;|$)/i.test(contentType)
      ? operation(bank, (body === null ? null : parseObject(body)) ?? {})
      : errorResponse(415, 'Content-Type must be application/json.');
}

// A total of a hundred years keeps every year within four digits.
const ADVANCED_SECONDS_MAX = 100 * 365 * 24 * 60 * 60;

/** Advances the clock of transfers by `advance_seconds`. */
function advanceClock({ transfers }: Bank, { advance_seconds: seconds }: JsonObject): BankResponse {
  const secondsMax = ADVANCED_SECONDS_MAX - transfers.clock().advancedSeconds;
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 0 || seconds > secondsMax) {
    return errorResponse(400, `advance_seconds must be a whole number from 0 to ${secondsMax}.`);
  }
  if (!transfers.advanceClock(seconds))
    return errorResponse(500, 'The journal cannot be written, so the clock was not advanced.');
  const { nowMs, advancedSeconds } = transfers.clock();
  return jsonResponse(200, { now: new Date(nowMs).toISOString(), advanced_seconds: advancedSeconds });
}

const TRANSFER_FIELDS = {
  reference: { pattern: /^[^\p{C}]{1,64}$/u, rule: 'the partnerReferenceNo: 1 to 64 characters' },
  account_number: { pattern: /^\d{5,34}$/, rule: '5 to 34 digits' },
  amount: { pattern: /^[1-9]\d{0,15}\.\d{2}$/, rule: 'an amount of rupiah with two decimals, as a string' },
} as const;

const SOURCE_ACCOUNT_NO = '1234567890';

/**
 * Orders a transfer to an account of this bank without a signature: in a rehearsal no disbursement core may be there to
 * sign one.
 */
function orderTransfer({ transfers, now }: Bank, fields: JsonObject): BankResponse {
  const values = { reference: '', account_number: '', amount: '' };
  for (const [name, { pattern, rule }] of Object.entries(TRANSFER_FIELDS)) {
    const value = fields[name];
    if (typeof value !== 'string' || !pattern.test(value)) return errorResponse(400, `${name} must be ${rule}.`);
    values[name as keyof typeof values] = value;
  }
  const acceptance = transfers.accept({
    service: '17',
    partnerReferenceNo: values.reference,
    amount: { value: values.amount, currency: 'IDR' },
    beneficiaryAccountNo: values.account_number,
    beneficiaryBankCode: OWN_BIC,
    sourceAccountNo: SOURCE_ACCOUNT_NO,
    transactionDate: formatJakartaTime(now()),
  });
  if (acceptance.kind === 'duplicate') return errorResponse(409, 'There is a transfer with this reference.');
  if (acceptance.kind === 'not-stored')
    return errorResponse(500, 'The journal cannot be written, so the transfer was not accepted.');
  const { partnerReferenceNo, referenceNo } = acceptance.transfer;
  return jsonResponse(201, { reference: partnerReferenceNo, bank_reference: referenceNo });
}

/** Whether a connection arrived at a loopback address, that is, from this machine. */
export function isLoopback(localAddress = ''): boolean {
  // A dual-stack listener reports an IPv4 address as an IPv4-mapped IPv6 address.
  const address = localAddress.replace(/^::ffff:/i, '');
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function errorResponse(status: number, error: string): BankResponse {
  return jsonResponse(status, { error });
}
