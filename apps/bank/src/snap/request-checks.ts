import type { Answer } from '../answer.ts';
import type { Bank } from '../bank.ts';
import { type BankRequest, header } from '../request.ts';
import { refuse, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import { isSymmetricSignature } from './signature.ts';
import { parseTimestamp } from './timestamp.ts';

const JSON_CONTENT_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i;
const EXTERNAL_ID = /^\d{1,36}$/;

/** A header by its name on the wire and, for messages, as SNAP BI writes it. */
type HeaderName = readonly [name: string, written: string];

export const TOKEN_HEADERS: readonly HeaderName[] = [
  ['x-timestamp', 'X-TIMESTAMP'],
  ['x-client-key', 'X-CLIENT-KEY'],
  ['x-signature', 'X-SIGNATURE'],
];

const TRANSACTION_HEADERS: readonly HeaderName[] = [
  ['authorization', 'Authorization'],
  ['x-timestamp', 'X-TIMESTAMP'],
  ['x-signature', 'X-SIGNATURE'],
  ['x-partner-id', 'X-PARTNER-ID'],
  ['x-external-id', 'X-EXTERNAL-ID'],
  ['channel-id', 'CHANNEL-ID'],
];

/** What every request needs: JSON, the mandatory headers, and a timestamp near the bank's clock. Null lets it pass. */
export function checkHeaders(
  bank: Bank,
  service: ServiceCode,
  request: BankRequest,
  mandatory: readonly HeaderName[],
): Answer | null {
  const contentType = header(request, 'content-type');
  if (contentType === '') return refuse(service, SNAP_CASES.invalidMandatoryField, 'Content-Type');
  if (!JSON_CONTENT_TYPE.test(contentType)) return refuse(service, SNAP_CASES.invalidFieldFormat, 'Content-Type');

  for (const [name, written] of mandatory) {
    if (header(request, name) === '') return refuse(service, SNAP_CASES.invalidMandatoryField, written);
  }

  const timestampMs = parseTimestamp(header(request, 'x-timestamp'));
  if (timestampMs === null) return refuse(service, SNAP_CASES.invalidFieldFormat, 'X-TIMESTAMP');
  // A right form at a wrong time is what a replayed request looks like, hence no format error.
  if (Math.abs(bank.now() - timestampMs) > bank.settings.clockToleranceSeconds * 1000) {
    return refuse(service, SNAP_CASES.unauthorized, 'X-TIMESTAMP');
  }
  return null;
}

/**
 * Whether a transaction request comes from the partner, unchanged, for the first time today. Cheap checks come first,
 * the signature before anything is remembered: a stranger cannot use up the partner's external ids.
 */
export function checkTransaction(bank: Bank, service: ServiceCode, request: BankRequest): Answer | null {
  const refusal = checkHeaders(bank, service, request, TRANSACTION_HEADERS);
  if (refusal !== null) return refusal;

  const accessToken = bearerToken(header(request, 'authorization'));
  if (!bank.tokens.isAlive(accessToken, bank.now())) return refuse(service, SNAP_CASES.invalidToken);
  if (header(request, 'x-partner-id') !== bank.settings.partnerId) {
    return refuse(service, SNAP_CASES.unauthorized, 'X-PARTNER-ID');
  }
  if (header(request, 'channel-id') !== bank.settings.channelId) {
    return refuse(service, SNAP_CASES.unauthorized, 'CHANNEL-ID');
  }

  const signed = {
    endpoint: request.endpoint,
    accessToken,
    body: request.body,
    timestamp: header(request, 'x-timestamp'),
  };
  if (!isSymmetricSignature(header(request, 'x-signature'), bank.clientSecretKey, signed)) {
    return refuse(service, SNAP_CASES.unauthorized, 'Signature');
  }

  const externalId = header(request, 'x-external-id');
  if (!EXTERNAL_ID.test(externalId)) return refuse(service, SNAP_CASES.invalidFieldFormat, 'X-EXTERNAL-ID');
  if (!bank.externalIds.claim(externalId, bank.now())) return refuse(service, SNAP_CASES.conflict);
  return null;
}

/** The token of `Bearer <token>` (the scheme in any case, RFC 9110 section 11.1), or an empty string. */
function bearerToken(authorization: string): string {
  return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7) : '';
}
