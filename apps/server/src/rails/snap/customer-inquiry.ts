import { AccountNumber } from '../../domain/account.ts';
import { readHolderName } from '../bank-reply.ts';
import { mobileNumber } from '../mobile-number.ts';
import type { InquiryOutcome } from '../rail.ts';
import { noVerdict, outcomeOfCode } from './account-inquiry.ts';
import type { SnapService } from './exchange.ts';
import type { SnapProfile } from './profiles/profile.ts';
import { nonTextOf, parseReply, type Reply, textOf } from './reply.ts';
import type { CustomerRoute } from './wallets.ts';

/** The account of an e-wallet, as it is held: `0812…`. */
export interface CustomerInquiry {
  readonly accountNumber: string;
}

const SERVICE = '37';

/** ASPI, `customerName`. */
const NAME_LENGTH_MAX = 255;

/** Fields that must be text. An object in the place of one may hide relevant information. */
const TEXT_FIELDS = ['customerNumber', 'customerName', 'partnerReferenceNo'] as const;

/** Account inquiry of e-money (ASPI, service 37, "customer top up"): about a customer of an e-wallet. */
export function createCustomerInquiry(
  profile: SnapProfile,
  route: CustomerRoute,
): SnapService<CustomerInquiry, InquiryOutcome> {
  const { sendsPartnerReferenceNo, codes } = profile;
  const amount = `"amount":{"value":"${route.amount}","currency":"IDR"}`;
  const info = route.additionalInfo === null ? '' : `,"additionalInfo":${JSON.stringify(route.additionalInfo)}`;

  return {
    write({ accountNumber }, externalId) {
      // Digits only: there is nothing to escape.
      const reference = sendsPartnerReferenceNo ? `"partnerReferenceNo":"${externalId}",` : '';
      return `{${reference}"customerNumber":"${mobileNumber(accountNumber, route.mobile)}",${amount}${info}}`;
    },
    read(httpStatus, body, sent, externalId) {
      const reply = parseReply(body);
      const code = reply?.responseCode ?? null;
      if (reply === null || code === null)
        return noVerdict(httpStatus >= 500 ? 'bank_unavailable' : 'invalid_response', code);
      if (code.service !== SERVICE || code.httpStatus !== httpStatus) return noVerdict('invalid_response', code);
      const echo = echoOf(reply, sent.accountNumber, sendsPartnerReferenceNo ? externalId : null);
      if (echo === 'other') return noVerdict('invalid_response', code);
      const outcome = outcomeOfCode(code, codes);
      if (outcome !== null) return outcome;
      // A success without both may be the reply to another inquiry.
      if (echo === 'none') return noVerdict('invalid_response', code);
      const accountName = readHolderName(textOf(reply, 'customerName'), NAME_LENGTH_MAX);
      if (accountName === null) return noVerdict('invalid_response', code);
      return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName }, railCode: code.text };
    },
  };
}

/** ASPI masks the number in replies that are shown to people: `XXXXXXXXX1857`. */
const MASKED = /^[Xx*]+(\d{3,})$/;

/** Whether the reply repeats the number or the reference of the inquiry, those of another one, or neither. */
function echoOf(reply: Reply, accountNumber: string, reference: string | null): 'same' | 'other' | 'none' {
  if (TEXT_FIELDS.some((name) => nonTextOf(reply, name) !== undefined)) return 'other';
  const number = textOf(reply, 'customerNumber') ?? '';
  const shown = MASKED.exec(number)?.[1];
  const isSameNumber =
    shown === undefined ? AccountNumber.parseMobile(number)?.reveal() === accountNumber : accountNumber.endsWith(shown);
  if (number !== '' && !isSameNumber) return 'other';
  const echoed = textOf(reply, 'partnerReferenceNo') ?? '';
  if (echoed !== '' && reference !== null && echoed !== reference) return 'other';
  // A masked number alone is shared by many.
  const isIdentified = (number !== '' && shown === undefined) || (echoed !== '' && reference !== null);
  return isIdentified ? 'same' : 'none';
}
