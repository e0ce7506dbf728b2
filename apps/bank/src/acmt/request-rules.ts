import { parseTimestamp } from '../timestamp.ts';
import type { ElementRule } from './element-rule.ts';

/** The versions of acmt.023 and acmt.024 that are played. */
export type Version = '03' | '04';

const holding = (name: string, ...content: readonly ElementRule[]): ElementRule => ({ name, content });
const saying = (name: string, text: Pick<RegExp, 'test'>): ElementRule => ({ name, text });

const MAX_35 = /^\S(?:.{0,33}\S)?$/su;
const ACCOUNT_NUMBER = /^\d{1,34}$/;
// BICFIDec2014Identifier.
const BICFI = saying('BICFI', /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/);
const FRACTION = /\.\d{1,9}(?=Z|[+-])/;

/** ISODateTime with its zone, in milliseconds since 1970; null without one. */
export const parseDateTime = (text: string): number | null => parseTimestamp(text.replace(FRACTION, ''));

/** How the account is put: in version 03 as EthSwitch has it, in 04 as Hydrogen does, whose `IBAN` holds any number. */
const ACCOUNT_IDS: Readonly<Record<Version, ElementRule>> = {
  '03': holding('Othr', saying('Id', ACCOUNT_NUMBER), holding('SchmeNm', saying('Prtry', /^ACCT$/))),
  '04': saying('IBAN', ACCOUNT_NUMBER),
};

/** acmt.023 as this scheme takes it: one verification, and all that it needs of what the standard leaves optional. */
export const requestRule = (version: Version): ElementRule =>
  holding(
    'Document',
    holding(
      'IdVrfctnReq',
      holding(
        'Assgnmt',
        saying('MsgId', MAX_35),
        saying('CreDtTm', { test: (text) => parseDateTime(text) !== null }),
        holding('Assgnr', holding('Agt', holding('FinInstnId', BICFI))),
        holding('Assgne', holding('Agt', holding('FinInstnId', holding('Othr', saying('Id', MAX_35))))),
      ),
      holding(
        'Vrfctn',
        saying('Id', MAX_35),
        holding(
          'PtyAndAcctId',
          holding('Acct', holding('Id', ACCOUNT_IDS[version])),
          holding('Agt', holding('FinInstnId', BICFI)),
        ),
      ),
    ),
  );
