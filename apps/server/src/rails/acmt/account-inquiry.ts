import { randomInt } from 'node:crypto';
import type { BankReply } from '../bank-http.ts';
import { readHolderName, reasonForHttpStatus } from '../bank-reply.ts';
import type { InquiryOutcome } from '../rail.ts';
import { outcomeOf, railCodeOf } from './codes.ts';
import { readReport, type SentAccountInquiry } from './read-report.ts';
import { type AcmtSettings, namespaceOf } from './settings.ts';
import { escapeXml } from './xml.ts';

/**
 * Creates values for `MsgId` (Max35Text), which no other message of the day may have: our BIC, the day, a random number
 * of this process, and a counter. 31 to 33 characters, so that two more make the id of a part of the message.
 */
export function createMessageIds(agentBic: string): (now: Date) => string {
  const process = randomInt(1_000_000).toString().padStart(6, '0');
  let count = 0;
  return (now) => {
    count = (count + 1) % 100_000_000;
    const day = now.toISOString().slice(0, 10).replaceAll('-', '');
    return `${agentBic}${day}${process}${count.toString().padStart(8, '0')}`;
  };
}

/**
 * Identification verification request: acmt.023.001.03 or .04, which do not differ in the elements used here. The order
 * of elements is the schema's. `CreDtTm` is in UTC, because a reader may take a time without a zone for another moment.
 */
export function writeRequest(settings: AcmtSettings, sent: SentAccountInquiry): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Document xmlns="${namespaceOf('acmt.023', settings.version)}"><IdVrfctnReq>` +
    '<Assgnmt>' +
    `<MsgId>${escapeXml(sent.messageId)}</MsgId>` +
    `<CreDtTm>${sent.createdAt.toISOString()}</CreDtTm>` +
    `<Assgnr><Agt><FinInstnId><BICFI>${escapeXml(settings.agentBic)}</BICFI></FinInstnId></Agt></Assgnr>` +
    `<Assgne><Agt><FinInstnId><Othr><Id>${escapeXml(settings.schemeId)}</Id></Othr></FinInstnId></Agt></Assgne>` +
    '</Assgnmt>' +
    `<Vrfctn><Id>${escapeXml(sent.verificationId)}</Id><PtyAndAcctId>` +
    `<Acct><Id>${accountId(settings, sent.accountNumber)}</Id></Acct>` +
    `<Agt><FinInstnId><BICFI>${escapeXml(sent.bankBic)}</BICFI></FinInstnId></Agt>` +
    '</PtyAndAcctId></Vrfctn>' +
    '</IdVrfctnReq></Document>'
  );
}

/** Domestic numbers are digits, which the schema allows in `Othr` only: an `IBAN` begins with a country code. */
function accountId({ accountScheme }: AcmtSettings, accountNumber: string): string {
  const id = escapeXml(accountNumber);
  const scheme = accountScheme === null ? '' : `<SchmeNm><Prtry>${escapeXml(accountScheme)}</Prtry></SchmeNm>`;
  return `<Othr><Id>${id}</Id>${scheme}</Othr>`;
}

/** Max140Text. */
const NAME_LENGTH_MAX = 140;
const VERIFIED = 'true';

/**
 * The outcome of a reply. A verdict needs a report on the account that was sent. With `Vrfctn` true, the report must
 * have the holder's name and the account number, and a reason in addition contradicts it.
 */
export function accountVerdict(
  { status, body }: BankReply,
  { version, nameElement }: Pick<AcmtSettings, 'version' | 'nameElement'>,
  sent: SentAccountInquiry,
): InquiryOutcome {
  if (status !== 200) return { kind: 'no_verdict', reason: reasonForHttpStatus(status), railCode: null };
  const report = readReport(body, version, sent);
  if (report === null) return { kind: 'no_verdict', reason: 'invalid_response', railCode: null };
  if (!report.verified) return outcomeOf(report.reason);

  const name = readHolderName(report.names[nameElement], NAME_LENGTH_MAX);
  if (name === null || !report.namesAccount || report.reason !== null) {
    return { kind: 'no_verdict', reason: 'invalid_response', railCode: railCodeOf(report.reason) ?? VERIFIED };
  }
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: name }, railCode: VERIFIED };
}
