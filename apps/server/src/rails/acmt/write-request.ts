import { type AcmtSettings, namespaceOf } from './settings.ts';
import { escapeXml } from './xml.ts';

/** What is asked, for writing it and for holding the report against it. */
export interface SentAccountInquiry {
  /** `Assgnmt/MsgId`, Max35Text. */
  readonly messageId: string;
  /** `Vrfctn/Id`, Max35Text: the report repeats it as `OrgnlId`. */
  readonly verificationId: string;
  readonly createdAt: Date;
  readonly accountNumber: string;
  /** Of the bank that holds the account. Eight characters. */
  readonly bankBic: string;
}

/**
 * Identification verification request: acmt.023.001.03 or .04, which do not differ in what is used here. The order of
 * elements is the schema's. `CreDtTm` is in UTC, because a time without its zone means another moment to the reader.
 */
export function writeRequest(settings: AcmtSettings, asked: SentAccountInquiry): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Document xmlns="${namespaceOf('acmt.023', settings.version)}"><IdVrfctnReq>` +
    '<Assgnmt>' +
    `<MsgId>${escapeXml(asked.messageId)}</MsgId>` +
    `<CreDtTm>${asked.createdAt.toISOString()}</CreDtTm>` +
    `<Assgnr><Agt><FinInstnId><BICFI>${escapeXml(settings.agentBic)}</BICFI></FinInstnId></Agt></Assgnr>` +
    `<Assgne><Agt><FinInstnId><Othr><Id>${escapeXml(settings.schemeId)}</Id></Othr></FinInstnId></Agt></Assgne>` +
    '</Assgnmt>' +
    `<Vrfctn><Id>${escapeXml(asked.verificationId)}</Id><PtyAndAcctId>` +
    `<Acct><Id>${accountId(settings, asked.accountNumber)}</Id></Acct>` +
    `<Agt><FinInstnId><BICFI>${escapeXml(asked.bankBic)}</BICFI></FinInstnId></Agt>` +
    '</PtyAndAcctId></Vrfctn>' +
    '</IdVrfctnReq></Document>'
  );
}

function accountId({ accountElement, accountScheme }: AcmtSettings, accountNumber: string): string {
  const id = escapeXml(accountNumber);
  if (accountElement === 'IBAN') return `<IBAN>${id}</IBAN>`;
  const scheme = accountScheme === null ? '' : `<SchmeNm><Prtry>${escapeXml(accountScheme)}</Prtry></SchmeNm>`;
  return `<Othr><Id>${id}</Id>${scheme}</Othr>`;
}
