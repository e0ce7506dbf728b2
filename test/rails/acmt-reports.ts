// Reports (acmt.024) as schemes write them. They are written by hand, without the code under test.

import { type SentAccountInquiry } from '../../apps/server/src/rails/acmt/read-report.ts';

export const HOLDER = 'BUDI SANTOSO';

export const SENT: SentAccountInquiry = {
  messageId: 'TIBAIDJX2026112100000100000001',
  verificationId: 'TIBAIDJX2026112100000100000001V1',
  createdAt: new Date('2026-11-21T04:32:26.123Z'),
  accountNumber: '0012345678',
  bankBic: 'BRINIDJA',
};

export const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:acmt.024.001.03';

export const ACCOUNT = '<Acct><Id><Othr><Id>0012345678</Id><SchmeNm><Prtry>ACCT</Prtry></SchmeNm></Othr></Id></Acct>';
export const BANK = '<Agt><FinInstnId><BICFI>BRINIDJA</BICFI></FinInstnId></Agt>';

/** The content of `Rpt` for a verified account. */
export const VERIFIED =
  `<OrgnlId>${SENT.verificationId}</OrgnlId><Vrfctn>true</Vrfctn>` +
  `<OrgnlPtyAndAcctId>${ACCOUNT}${BANK}</OrgnlPtyAndAcctId>` +
  `<UpdtdPtyAndAcctId><Pty><Nm>${HOLDER}</Nm></Pty>${ACCOUNT}${BANK}</UpdtdPtyAndAcctId>`;

export const unverified = (reason: string): string =>
  `<OrgnlId>${SENT.verificationId}</OrgnlId><Vrfctn>false</Vrfctn>${reason}` +
  `<OrgnlPtyAndAcctId>${ACCOUNT}${BANK}</OrgnlPtyAndAcctId>`;

const AGENT = '<Agt><FinInstnId><Othr><Id>SCHEME</Id></Othr></FinInstnId></Agt>';

/** A whole report with this content in its `Rpt`. */
export const reportOf = (content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="${NAMESPACE}">
  <IdVrfctnRpt>
    <Assgnmt>
      <MsgId>SCHEME20261121000001</MsgId>
      <CreDtTm>2026-11-21T11:32:26.456+07:00</CreDtTm>
      <Assgnr>${AGENT}</Assgnr>
      <Assgne>${AGENT}</Assgne>
    </Assgnmt>
    <OrgnlAssgnmt><MsgId>${SENT.messageId}</MsgId><CreDtTm>2026-11-21T04:32:26.123Z</CreDtTm></OrgnlAssgnmt>
    <Rpt>${content}</Rpt>
  </IdVrfctnRpt>
</Document>
`;

/** A valid report on a verified account, with one part replaced. */
export function changed(part: string | RegExp, replacement: string): string {
  const valid = reportOf(VERIFIED);
  const result = typeof part === 'string' ? valid.replaceAll(part, replacement) : valid.replace(part, replacement);
  if (result === valid) throw new Error(`replacing ${String(part)} changes nothing`);
  return result;
}
