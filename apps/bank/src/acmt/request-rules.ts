import { parseTimestamp } from '../timestamp.ts';
import type { ElementRule } from './element-rule.ts';

/** The versions of acmt.023 and acmt.024 that are played. */
export type Version = '03' | '04';

const parentRule = (name: string, ...content: readonly ElementRule[]): ElementRule => ({ name, content });
const textRule = (name: string, text: Pick<RegExp, 'test'>): ElementRule => ({ name, text });

const MAX_35 = /^\S(?:.{0,33}\S)?$/su;
const ACCOUNT_NUMBER = /^\d{1,34}$/;
// BICFIDec2014Identifier.
const BICFI = textRule('BICFI', /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/);
const FRACTION = /\.\d{1,9}(?=Z|[+-])/;

/** ISODateTime with its zone, in milliseconds since 1970; null without one. */
export const parseDateTime = (text: string): number | null => parseTimestamp(text.replace(FRACTION, ''));

/** How the account is put: in version 03 as EthSwitch has it, in 04 as Hydrogen does, whose `IBAN` holds any number. */
const ACCOUNT_IDS: Readonly<Record<Version, ElementRule>> = {
  '03': parentRule('Othr', textRule('Id', ACCOUNT_NUMBER), parentRule('SchmeNm', textRule('Prtry', /^ACCT$/))),
  '04': textRule('IBAN', ACCOUNT_NUMBER),
};

/** acmt.023 as this scheme takes it: one verification, and all that it needs of what the standard leaves optional. */
export const requestRule = (version: Version): ElementRule =>
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
