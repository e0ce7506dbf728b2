import type { Bank } from '../bank.ts';
import { type BankRequest, type BankResponse, header, isJson } from '../http.ts';
import type { BankSettings } from '../settings.ts';
import { parseTimestamp, parseUtcTimestamp } from '../time.ts';
import { reject, type ServiceCode, SNAP_CASES } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';
import { isTransactionSignature, type SignatureStyle } from './signature.ts';

/** The name of a header in lower case, and as SNAP BI writes it, for messages. */
type HeaderName = readonly [name: string, displayName: string];

export const TOKEN_HEADERS: readonly HeaderName[] = [
  ['x-timestamp', 'X-TIMESTAMP'],
  ['x-client-key', 'X-CLIENT-KEY'],
  ['x-signature', 'X-SIGNATURE'],
];

const AUTHORIZATION: HeaderName = ['authorization', 'Authorization'];
const ORIGIN: HeaderName = ['origin', 'ORIGIN'];

const TRANSACTION_HEADERS: readonly HeaderName[] = [
  ['x-timestamp', 'X-TIMESTAMP'],
  ['x-signature', 'X-SIGNATURE'],
  ['x-partner-id', 'X-PARTNER-ID'],
  ['x-external-id', 'X-EXTERNAL-ID'],
  ['channel-id', 'CHANNEL-ID'],
];

/** Requires JSON, the mandatory headers, and a timestamp near the bank's clock. Returns the rejection, or null. */
export function checkHeaders(
  bank: Bank,
  rules: SnapRules,
  service: ServiceCode,
  request: BankRequest,
  mandatory: readonly HeaderName[],
): BankResponse | null {
  const contentType = header(request, 'content-type');
  if (contentType === '') return reject(service, SNAP_CASES.invalidMandatoryField, 'Content-Type');
  if (!isJson(contentType)) return reject(service, SNAP_CASES.invalidFieldFormat, 'Content-Type');

  for (const [name, displayName] of mandatory) {
    if (header(request, name) === '') return reject(service, SNAP_CASES.invalidMandatoryField, displayName);
  }

  const parse = rules.timestamp === 'utc-with-milliseconds' ? parseUtcTimestamp : parseTimestamp;
  const timestampMs = parse(header(request, 'x-timestamp'));
  if (timestampMs === null) return reject(service, SNAP_CASES.invalidFieldFormat, 'X-TIMESTAMP');
  // A replayed request has a well-formed but old timestamp, so this is not a format error.
  if (Math.abs(bank.now() - timestampMs) > bank.settings.clockToleranceSeconds * 1000) {
    return reject(service, SNAP_CASES.unauthorized, 'X-TIMESTAMP');
  }
  return null;
}

/**
 * Authenticates a transaction request, and rejects an X-EXTERNAL-ID that was used today. Returns the rejection, or
 * null. Cheap checks come first. The signature is checked before the external id is stored: an attacker cannot use up
 * the partner's external ids.
 */
export function checkTransaction(
  bank: Bank,
  rules: SnapRules,
  service: ServiceCode,
  request: BankRequest,
): BankResponse | null {
  const { settings } = bank;
  const rejection = checkHeaders(bank, rules, service, request, mandatoryHeaders(settings));
  if (rejection !== null) return rejection;

  const accessToken = bearerToken(header(request, 'authorization'));
  if (needsToken(settings.signature) && !bank.tokens.isValid(accessToken, bank.now())) {
    return reject(service, SNAP_CASES.invalidToken);
  }
  const partnerRejection = checkPartner(settings, rules, service, request);
  if (partnerRejection !== null) return partnerRejection;

  const signed = {
    endpoint: request.endpoint,
    accessToken,
    body: request.body,
    timestamp: header(request, 'x-timestamp'),
  };
  const keys = { secret: bank.clientSecretKey, publicKey: settings.clientPublicKey };
  if (!isTransactionSignature(header(request, 'x-signature'), settings.signature, keys, signed)) {
    return reject(service, SNAP_CASES.unauthorized, 'Signature');
  }

  const externalId = header(request, 'x-external-id');
  if (!rules.externalId.test(externalId)) return reject(service, SNAP_CASES.invalidFieldFormat, 'X-EXTERNAL-ID');
  if (!bank.requestIds.claim(externalId, bank.now())) return reject(service, SNAP_CASES.conflict);
  return null;
}

function mandatoryHeaders({ origin, signature }: BankSettings): readonly HeaderName[] {
  return [
    ...(needsToken(signature) ? [AUTHORIZATION] : []),
    ...TRANSACTION_HEADERS,
    ...(origin === null ? [] : [ORIGIN]),
  ];
}

/** An asymmetric signature replaces the token (SNAP BI, signature type 2). */
const needsToken = (style: SignatureStyle): boolean => style.startsWith('symmetric');

/** Checks the headers that identify the partner. */
function checkPartner(
  settings: BankSettings,
  rules: SnapRules,
  service: ServiceCode,
  request: BankRequest,
): BankResponse | null {
  const partnerId = header(request, 'x-partner-id');
  if (partnerId.length > rules.partnerIdLengthMax)
    return reject(service, SNAP_CASES.invalidFieldFormat, 'X-PARTNER-ID');
  if (partnerId !== settings.partnerId) return reject(service, SNAP_CASES.unauthorized, 'X-PARTNER-ID');
  if (header(request, 'channel-id') !== (rules.channelId ?? settings.channelId)) {
    return reject(service, SNAP_CASES.unauthorized, 'CHANNEL-ID');
  }
  if (settings.origin !== null && header(request, 'origin') !== settings.origin) {
    return reject(service, SNAP_CASES.unauthorized, 'ORIGIN');
  }
  return null;
}

/** The token of `Bearer <token>` (the scheme in any case, RFC 9110 section 11.1), or an empty string. */
function bearerToken(authorization: string): string {
  return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7) : '';
}
