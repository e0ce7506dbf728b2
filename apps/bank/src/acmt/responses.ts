import type { BankResponse } from '../http.ts';
import type { VerificationRequest, Version } from './verification-request.ts';
import { copyAs, element, elementAt, textElement } from './xml.ts';

/** The identifier of this scheme. */
export const SCHEME_ID = 'TIBASCHEME';

/** Why an account is not verified: `Cd` is a code of ExternalVerificationReason1Code, `Prtry` a proprietary one. */
export interface Reason {
  readonly kind: 'Cd' | 'Prtry';
  readonly code: string;
}

export interface ReportHead {
  readonly version: Version;
  readonly messageId: string;
  /** ISO 8601 with its time zone. */
  readonly createdAt: string;
}

/** The report (acmt.024) on an account: verified with its holder (a string), or not verified with the reason. */
export function reportResponse(head: ReportHead, request: VerificationRequest, result: Reason | string): BankResponse {
  const verified = typeof result === 'string';
  return xmlResponse(
    200,
    `urn:iso:std:iso:20022:tech:xsd:acmt.024.001.${head.version}`,
    element(
      'IdVrfctnRpt',
      element(
        'Assgnmt',
        textElement('MsgId', head.messageId),
        textElement('CreDtTm', head.createdAt),
        element('Assgnr', element('Agt', element('FinInstnId', element('Othr', textElement('Id', SCHEME_ID))))),
        element('Assgne', element('Agt', element('FinInstnId', textElement('BICFI', request.assignerBic)))),
      ),
      element('OrgnlAssgnmt', textElement('MsgId', request.messageId), textElement('CreDtTm', request.createdAt)),
      element(
        'Rpt',
        textElement('OrgnlId', request.verificationId),
        textElement('Vrfctn', String(verified)),
        verified ? '' : element('Rsn', textElement(result.kind, result.code)),
        copyAs('OrgnlPtyAndAcctId', request.partyAndAccount),
        verified ? updatedPartyAndAccount(request, result) : '',
      ),
    ),
  );
}

/** The full name belongs to the party; the name that may be shown to a payer belongs to the account (Nexus). */
function updatedPartyAndAccount({ partyAndAccount }: VerificationRequest, holderName: string): string {
  const id = elementAt(partyAndAccount, 'Acct', 'Id');
  return element(
    'UpdtdPtyAndAcctId',
    element('Pty', textElement('Nm', holderName)),
    element('Acct', copyAs('Id', id), textElement('Nm', displayName(holderName))),
    copyAs('Agt', elementAt(partyAndAccount, 'Agt')),
  );
}

/** The first name, and the initials of the other names. */
const displayName = (holderName: string): string => {
  const [first = '', ...others] = holderName.split(' ');
  return [first, ...others.map((name) => `${name.slice(0, 1)}.`)].join(' ');
};

/** The rejection (admi.002) of an invalid message. `location` is the path of the invalid element, if there is one. */
export function rejectionResponse(status: number, description: string, location = ''): BankResponse {
  return xmlResponse(
    status,
    'urn:iso:std:iso:20022:tech:xsd:admi.002.001.01',
    element(
      'admi.002.001.01',
      // Mandatory, although the request may have no readable reference.
      element('RltdRef', textElement('Ref', 'NOTPROVIDED')),
      element(
        'Rsn',
        textElement('RjctgPtyRsn', 'FF01'),
        location === '' ? '' : textElement('ErrLctn', location),
        textElement('RsnDesc', description),
      ),
    ),
  );
}

const xmlResponse = (status: number, namespace: string, content: string): BankResponse => ({
  status,
  contentType: 'application/xml; charset=utf-8',
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${namespace}">${content}</Document>\n`,
});
