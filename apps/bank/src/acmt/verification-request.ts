import { findFault } from './element-rule.ts';
import { parseDateTime, requestRule, type Version } from './request-rules.ts';
import { elementAt, parseXml, type XmlElement } from './xml.ts';

/** What a request (acmt.023) asks, with the ids that the report repeats. */
export interface VerificationRequest {
  readonly messageId: string;
  /** As it is written. */
  readonly createdAt: string;
  readonly createdAtMs: number;
  readonly assignerBic: string;
  readonly assigneeId: string;
  readonly verificationId: string;
  readonly accountNo: string;
  readonly bankBic: string;
  /** `PtyAndAcctId`, for the report to repeat. */
  readonly partyAndAccount: XmlElement;
}

export interface RequestFault {
  /** Where: the path of an element, or `Document` for what is none. */
  readonly location: string;
}

/** Reads a request, or says what is wrong with it first. */
export function readRequest(body: Buffer, version: Version): VerificationRequest | RequestFault {
  const document = parseXml(body);
  if (document?.attributes !== `xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.023.001.${version}"`) {
    return { location: 'Document' };
  }
  const location = findFault(document, requestRule(version));
  if (location !== null) return { location };

  const message = elementAt(document, 'IdVrfctnReq');
  const partyAndAccount = elementAt(message, 'Vrfctn', 'PtyAndAcctId');
  const textAt = (...path: readonly string[]): string => elementAt(message, ...path).text;
  const createdAt = textAt('Assgnmt', 'CreDtTm');
  return {
    messageId: textAt('Assgnmt', 'MsgId'),
    createdAt,
    createdAtMs: parseDateTime(createdAt) ?? Number.NaN,
    assignerBic: textAt('Assgnmt', 'Assgnr', 'Agt', 'FinInstnId', 'BICFI'),
    assigneeId: textAt('Assgnmt', 'Assgne', 'Agt', 'FinInstnId', 'Othr', 'Id'),
    verificationId: textAt('Vrfctn', 'Id'),
    accountNo: textAt('Vrfctn', 'PtyAndAcctId', 'Acct', 'Id', ...(version === '03' ? ['Othr', 'Id'] : ['IBAN'])),
    bankBic: textAt('Vrfctn', 'PtyAndAcctId', 'Agt', 'FinInstnId', 'BICFI'),
    partyAndAccount,
  };
}
