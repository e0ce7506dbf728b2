import type { Bank } from '../bank.ts';
import { type BankRequest, type BankResponse, header, parseObject } from '../http.ts';
import { checkHeaders, TOKEN_HEADERS } from './request-checks.ts';
import { reject, SNAP_CASES, succeed } from './response-codes.ts';
import type { SnapRules } from './rules/rules.ts';
import { isAsymmetricSignature } from './signature.ts';

const SERVICE = '73';

/**
 * Access token B2B (SNAP BI, service 73): issues a bearer token for a request signed with the partner's private key.
 */
export function handleAccessToken(bank: Bank, rules: SnapRules, request: BankRequest): BankResponse {
  const { clientKey, clientPublicKey, tokenLifetimeSeconds } = bank.settings;
  const rejection = checkHeaders(bank, rules, SERVICE, request, TOKEN_HEADERS);
  if (rejection !== null) return rejection;

  if (header(request, 'x-client-key') !== clientKey) {
    return reject(SERVICE, SNAP_CASES.unauthorized, 'Unknown client');
  }
  const signed = `${clientKey}|${header(request, 'x-timestamp')}`;
  if (!isAsymmetricSignature(header(request, 'x-signature'), clientPublicKey, signed, 'base64')) {
    return reject(SERVICE, SNAP_CASES.unauthorized, 'Signature');
  }

  const fields = parseObject(request.body);
  if (fields === null) return reject(SERVICE, SNAP_CASES.badRequest);
  const grantType = fields['grantType'] ?? '';
  if (grantType === '') return reject(SERVICE, SNAP_CASES.invalidMandatoryField, 'grantType');
  // BCA responds to an unsupported grantType with 4007300, not with an invalid field format.
  if (grantType !== 'client_credentials') return reject(SERVICE, SNAP_CASES.badRequest);

  const response = succeed(SERVICE, {
    accessToken: bank.tokens.issue(bank.now()),
    tokenType: 'Bearer',
    // A string, as in the standard.
    expiresIn: String(tokenLifetimeSeconds),
  });
  return { ...response, headers: { 'X-CLIENT-KEY': clientKey } };
}
