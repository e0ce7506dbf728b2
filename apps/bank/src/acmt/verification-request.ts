import { parseTimestamp } from '../time.ts';
import { elementAt, parseXml, type XmlElement } from './xml.ts';

/** The content of a request (acmt.023), with the ids that the report repeats. */
export interface VerificationRequest {
  readonly messageId: string;
  /** The unparsed text. */
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
  /** The path of the invalid element; `Document` if the body is not such a message. */
  readonly location: string;
}

/** Parses a request, or returns its first fault. */
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
    accountNo: textAt('Vrfctn', 'PtyAndAcctId', 'Acct', 'Id', 'Othr', 'Id'),
    bankBic: textAt('Vrfctn', 'PtyAndAcctId', 'Agt', 'FinInstnId', 'BICFI'),
    partyAndAccount,
  };
}

/** The versions of acmt.023 and acmt.024 that the scheme supports. */
export type Version = '03' | '04';

const parentRule = (name: string, ...content: readonly ElementRule[]): ElementRule => ({ name, content });
const textRule = (name: string, text: Pick<RegExp, 'test'>): ElementRule => ({ name, text });

const MAX_35 = /^\S(?:.{0,33}\S)?$/su;
const ACCOUNT_NUMBER = /^\d{1,34}$/;
// BICFIDec2014Identifier.
const BICFI = textRule('BICFI', /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/);
const FRACTION = /\.\d{1,9}(?=Z|[+-])/;

/** ISODateTime with its zone, in milliseconds since 1970; null without one. */
const parseDateTime = (text: string): number | null => parseTimestamp(text.replace(FRACTION, ''));

/**
 * The account identification. Version 03 is as at EthSwitch, which names the numbering scheme. The digits of a domestic
 * number are no `IBAN` by the schema of either version.
 */
const ACCOUNT_IDS: Readonly<Record<Version, ElementRule>> = {
  '03': parentRule('Othr', textRule('Id', ACCOUNT_NUMBER), parentRule('SchmeNm', textRule('Prtry', /^ACCT$/))),
  '04': parentRule('Othr', textRule('Id', ACCOUNT_NUMBER)),
};

/**
 * acmt.023 as this scheme accepts it: one verification, with the optional elements of the standard that it requires.
 */
const requestRule = (version: Version): ElementRule =>
  parentRule(
    'Document',
    parentRule(
      'IdVrfctnReq',
      parentRule(
        'Assgnmt',
        textRule('MsgId', MAX_35),
        textRule('CreDtTm', { test: (text) => parseDateTime(text) !== null }),
        parentRule('Assgnr', parentRule('Agt', parentRule('FinInstnId', BICFI))),
        parentRule('Assgne', parentRule('Agt', parentRule('FinInstnId', parentRule('Othr', textRule('Id', MAX_35))))),
      ),
      parentRule(
        'Vrfctn',
        textRule('Id', MAX_35),
        parentRule(
          'PtyAndAcctId',
          parentRule('Acct', parentRule('Id', ACCOUNT_IDS[version])),
          parentRule('Agt', parentRule('FinInstnId', BICFI)),
        ),
      ),
    ),
  );

/** The rule of one element: the text that it holds, or its child elements, all mandatory and in this order. */
type ElementRule =
  | { readonly name: string; readonly text: Pick<RegExp, 'test'> }
  | { readonly name: string; readonly content: readonly ElementRule[] };

/**
 * The path of the first element that is invalid or missing; null if there is none. Only the root element may have
 * attributes.
 */
function findFault(element: XmlElement, rule: ElementRule): string | null {
  const { name } = rule;
  if (element.name !== name) return element.name;
  if ('text' in rule) return rule.text.test(element.text) ? null : name;
  for (const [index, each] of rule.content.entries()) {
    const child = element.children[index];
    const fault = child === undefined || child.attributes !== '' ? each.name : findFault(child, each);
    if (fault !== null) return `${name}/${fault}`;
  }
  const unexpected = element.children[rule.content.length];
  return unexpected === undefined ? null : `${name}/${unexpected.name}`;
}
