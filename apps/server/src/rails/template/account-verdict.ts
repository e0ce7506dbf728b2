import { Type } from 'typebox';
import { Check } from 'typebox/schema';
import { readExactJson } from '../../lib/exact-json.ts';
import type { BankReply } from '../bank-http.ts';
import { readHolderName } from '../holder-name.ts';
import { reasonForHttpStatus } from '../http-failure.ts';
import type { InquiryOutcome } from '../rail.ts';
import type { SentAccountInquiry } from './account-inquiry.ts';
import { outcomeOf, VERIFIED } from './verdicts.ts';

// Yours: what is read of a reply. The code's shape keeps account numbers and names out of the log.
const Reply = Type.Object({
  request_id: Type.String(),
  bank: Type.String(),
  account: Type.String(),
  code: Type.String({ pattern: '^[A-Z][0-9]{2}$' }),
  holder: Type.Optional(Type.String()),
});

// Yours: the length that the bank's document gives to a holder's name.
const NAME_LENGTH_MAX = 100;

/** What a reply means. It is believed only when it is about what was asked, and an active account needs its holder's name. */
export function accountVerdict({ status, body }: BankReply, asked: SentAccountInquiry): InquiryOutcome {
  // Yours: the statuses beside which the bank speaks of the account; any other says only what to do.
  if (status !== 200) return { kind: 'no_verdict', reason: reasonForHttpStatus(status), railCode: `HTTP ${status}` };

  const reply = readExactJson(body);
  if (!Check(Reply, reply)) return { kind: 'no_verdict', reason: 'invalid_response', railCode: null };
  const railCode = reply.code;
  // Yours: everything that the reply repeats of the question.
  const isAboutAsked =
    reply.request_id === asked.requestId && reply.bank === asked.bankBic && reply.account === asked.accountNumber;
  if (!isAboutAsked) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  if (railCode !== VERIFIED) return outcomeOf(railCode);

  const accountName = readHolderName(reply.holder, NAME_LENGTH_MAX);
  if (accountName === null) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName }, railCode };
}
