import { Type } from 'typebox';
import { Check } from 'typebox/schema';
import { readExactJson } from '../../lib/exact-json.ts';
import type { BankReply } from '../bank-http.ts';
import { readHolderName, reasonForHttpStatus } from '../bank-reply.ts';
import type { InquiryOutcome } from '../rail.ts';
import { outcomeOf, VERIFIED } from './codes.ts';

// A comment that begins with `Yours:` marks what you adapt in your copy of this folder (docs/adding-a-rail.md). Remove
// each one when you have done so: `npm test` fails while any is left outside the template.

/** An inquiry as it is sent. A reply must be about it. */
export interface SentAccountInquiry {
  // Yours: whatever the bank's reply repeats of the request. The more it repeats, the less a wrong reply is believed.
  readonly requestId: string;
  readonly bankBic: string;
  readonly accountNumber: string;
}

// Yours: the path of the account inquiry, below `base_url`.
export const ACCOUNT_INQUIRY_PATH = '/accounts/lookup';

export function writeAccountInquiry({ requestId, bankBic, accountNumber }: SentAccountInquiry): string {
  // Yours: the body of the request.
  return JSON.stringify({ request_id: requestId, bank: bankBic, account: accountNumber });
}

// Yours: the fields that are read from a reply. The pattern of the code keeps account numbers and names out of the log.
const Reply = Type.Object({
  request_id: Type.String(),
  bank: Type.String(),
  account: Type.String(),
  code: Type.String({ pattern: '^[A-Z][0-9]{2}$' }),
  holder: Type.Optional(Type.String()),
});

// Yours: the maximum length of a holder's name in the bank's document.
const NAME_LENGTH_MAX = 100;

/**
 * The outcome of a reply. A verdict needs a reply about the account that was sent; ACTIVE also needs the holder's name.
 */
export function accountVerdict({ status, body }: BankReply, sent: SentAccountInquiry): InquiryOutcome {
  // Yours: the HTTP statuses with which the bank reports on the account. Any other only says what to do.
  if (status !== 200) return { kind: 'no_verdict', reason: reasonForHttpStatus(status), railCode: `HTTP ${status}` };

  const reply = readExactJson(body);
  if (!Check(Reply, reply)) return { kind: 'no_verdict', reason: 'invalid_response', railCode: null };
  const railCode = reply.code;
  // Yours: everything that the reply repeats of the request.
  const isAboutSent =
    reply.request_id === sent.requestId && reply.bank === sent.bankBic && reply.account === sent.accountNumber;
  if (!isAboutSent) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  if (railCode !== VERIFIED) return outcomeOf(railCode);

  const accountName = readHolderName(reply.holder, NAME_LENGTH_MAX);
  if (accountName === null) return { kind: 'no_verdict', reason: 'invalid_response', railCode };
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName }, railCode };
}
