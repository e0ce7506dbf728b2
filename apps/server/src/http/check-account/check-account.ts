import type { FastifyInstance } from 'fastify';
import type { AccountChecks } from '../../account-checks/account-checks.ts';
import { accountNameOf, type Verdict } from '../../domain/account.ts';
import { type AccountCheckRequest, parseAccountCheck } from '../../domain/account-check-request.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { matchHeldName } from '../../name-match/name-match.ts';
import { arrivedMs, noteWaited } from '../arrival.ts';
import { type Authorize, callerOf } from '../authorize.ts';
import { sendEnvelope, successEnvelope } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { languageOf } from '../language.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { acceptedAgeSeconds } from '../request-headers.ts';
import { noVerdictError, OUTCOME_WITHIN_MS, outcomeLogFields } from './outcome.ts';
import { checkAccountSchema, VALIDATION_SUCCESSFUL } from './schema.ts';

export interface CheckAccountDependencies {
  readonly authorize: Authorize;
  readonly banks: BankDirectory;
  readonly accountChecks: AccountChecks;
}

/** docs/contract.md 4.3. */
export function checkAccount(
  app: FastifyInstance,
  { authorize, banks, accountChecks }: CheckAccountDependencies,
): void {
  const onRequest = [authorize({ scope: 'account:check', limitedOperation: 'check-account' }), requireJson, noteWaited];

  app.post('/api/v1/check-account', { onRequest, schema: checkAccountSchema }, async (request, reply) => {
    const deadlineMs = arrivedMs(request) + OUTCOME_WITHIN_MS;
    const body = jsonObject(request.body);
    const bankCode = ownProperty(body, 'bank_code');
    const accountNumberSent = ownProperty(body, 'account_number');
    const check = parseAccountCheck(
      {
        bankCode,
        accountNumber: accountNumberSent,
        expectedName: ownProperty(body, 'expected_account_name'),
      },
      banks,
    );
    if ('code' in check) throw new ApiError(check.code, check);
    const { bank, accountNumber } = check;

    const outcome = await accountChecks.check(
      { clientId: callerOf(request).client.clientId, bank, accountNumber, deadlineMs, span: request.span },
      // Real-time unless the client accepts less (docs/api.md, "Account checks").
      { ageMaxSeconds: acceptedAgeSeconds(request.headers['cache-control']), requestId: request.id },
    );
    request.logFields = outcomeLogFields(bank, accountNumber, outcome);
    if (outcome.kind !== 'verdict') throw noVerdictError(bank, outcome);
    if (outcome.ageSeconds !== undefined) reply.header('age', String(outcome.ageSeconds));
    const envelope = outcome.verdict.status === 'ACTIVE' ? validationSuccessful : validationCompleted;
    const language = languageOf(request);
    return sendEnvelope(
      reply,
      language,
      envelope(language, resultJson({ bankCode, accountNumberSent }, check, outcome.verdict)),
    );
  });
}

const validationSuccessful = successEnvelope(VALIDATION_SUCCESSFUL);
const validationCompleted = successEnvelope({
  en: 'Account validation completed',
  id: 'Validasi rekening selesai',
});

/** docs/contract.md 2.3, and 4.3 rules 1 and 2; with `name_match` if the request has `expected_account_name`. */
function resultJson(
  { bankCode, accountNumberSent }: { readonly bankCode: unknown; readonly accountNumberSent: unknown },
  { bank, expectedName }: AccountCheckRequest,
  verdict: Verdict,
): string {
  const accountName = accountNameOf(verdict);
  return JSON.stringify({
    // Both as they were sent.
    bank_code: bankCode,
    bank_name: bank.name,
    account_number: accountNumberSent,
    account_name: accountName,
    is_valid: verdict.status === 'ACTIVE',
    status: verdict.status,
    name_match: expectedName === null ? undefined : matchHeldName(expectedName, accountName),
  });
}
