// The rules of the SNAP banks, stated independently for the tests: they come neither from the service's profiles nor
// from the simulated bank.

import type { TestContext } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import type { BankProfileName, BankSettings } from '../../apps/bank/src/settings.ts';
import type { Verdict } from '../../apps/server/src/domain/account.ts';
import { PROFILES, type ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testRailConformance } from './conformance.ts';
import { createRail } from './connection.ts';

type Negative = Exclude<Verdict['status'], 'ACTIVE'>;

export interface SnapBank {
  readonly profile: BankProfileName;
  /** As agreed with the operator; empty where the bank has one for all partners. */
  readonly channelId: string;
  readonly partnerIdLengthMax: number;
  readonly externalIdDigitsMax: number;
  /** The own bank in the service's settings; `success` is the response code of its successful inquiry. */
  readonly own: {
    readonly code: string;
    readonly bic: string;
    readonly digits: [number, number];
    readonly success: string;
  };
  /** Another bank. */
  readonly other: string;
  readonly routes: Readonly<Record<string, SnapBankRoute>>;
  readonly verdicts: Readonly<Record<Negative, Negative>>;
  /** Its status inquiry needs the X-EXTERNAL-ID of the order. */
  readonly needsExternalId: boolean;
  /** How long after the order it wants the first status inquiry; null where it does not say. */
  readonly firstStatusInquiryMinutes: number | null;
}

export interface SnapBankRoute {
  readonly digitsMax: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** The switcher in the request, where the bank would otherwise choose one. */
  readonly switcher?: string;
  /** Parameter values that this bank rejects. */
  readonly invalid: Readonly<Record<string, string>>;
  /** The value that confirms a success in its replies, and the value that denies it. */
  readonly confirmation?: { readonly confirmed: string; readonly denied: string };
  /** Where the route resolves aliases: the parameters of such an inquiry, and values that this bank rejects. */
  readonly alias?: Pick<SnapBankRoute, 'parameters' | 'invalid'>;
}

const DISTINCT: SnapBank['verdicts'] = { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'BLOCKED' };
const ALL_NOT_FOUND: SnapBank['verdicts'] = { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'NOT_FOUND', BLOCKED: 'NOT_FOUND' };
const PLAIN: SnapBankRoute = { digitsMax: 34, parameters: {}, invalid: {} };

const STANDARD: SnapBank = {
  profile: 'snap',
  channelId: '95221',
  partnerIdLengthMax: 36,
  externalIdDigitsMax: 36,
  own: { code: 'BCA', bic: 'CENAIDJA', digits: [5, 34], success: '2001500' },
  other: 'BRI',
  routes: { direct: PLAIN },
  verdicts: DISTINCT,
  needsExternalId: false,
  firstStatusInquiryMinutes: null,
};

export const SNAP_BANKS: Readonly<Record<ProfileName, SnapBank>> = {
  aspi: STANDARD,
  bca: {
    ...STANDARD,
    profile: 'snap-bca',
    channelId: '',
    partnerIdLengthMax: 10,
    externalIdDigitsMax: 32,
    own: { ...STANDARD.own, digits: [10, 10] },
    routes: {
      switcher: { ...PLAIN, digitsMax: 28 },
      bifast: {
        digitsMax: 34,
        parameters: { source_account_no: '8880001000', amount: '10000.00', purpose_code: '99' },
        invalid: { source_account_no: '888000100', amount: '10000', purpose_code: '04' },
      },
    },
    verdicts: ALL_NOT_FOUND,
    needsExternalId: true,
  },
  bri: {
    ...STANDARD,
    profile: 'snap-bri',
    own: { ...STANDARD.own, code: 'BRI', bic: 'BRINIDJA', digits: [5, 15] },
    other: 'BNI',
  },
  mandiri: {
    ...STANDARD,
    profile: 'snap-mandiri',
    partnerIdLengthMax: 16,
    externalIdDigitsMax: 19,
    own: { ...STANDARD.own, code: 'MANDIRI', bic: 'BMRIIDJA' },
    routes: {
      prima: { ...PLAIN, switcher: 'PRIMA' },
      atmb: { ...PLAIN, switcher: 'ATMB' },
      bifast: {
        ...PLAIN,
        switcher: 'BIFAST',
        parameters: { category_purpose: '51001' },
        invalid: { category_purpose: '' },
        confirmation: { confirmed: 'ACTC', denied: 'RJCT' },
        alias: {
          parameters: { category_purpose: '51001', debtor_account: '1234567890' },
          invalid: { category_purpose: '', debtor_account: '12-34' },
        },
      },
    },
    verdicts: ALL_NOT_FOUND,
  },
  midtrans: {
    ...STANDARD,
    profile: 'snap-midtrans',
    // It has no accounts: those of "its own" bank are inquired like any other.
    own: { ...STANDARD.own, digits: [5, 20], success: '2001600' },
    routes: { direct: { ...PLAIN, digitsMax: 20 } },
    firstStatusInquiryMinutes: 10,
  },
};

const ORIGIN = 'tiba.example';

const keys = rsaKeys();

/** The simulated bank with the rules of this one. Closed with the test. */
export async function startSnapBank(
  context: TestContext,
  { profile, channelId }: SnapBank,
  changes: Partial<BankSettings> = {},
): Promise<RunningBank> {
  const settings: BankSettings = { ...partnerSettings(keys), profile, origin: ORIGIN, ...changes };
  const bank = await startBank(channelId === '' ? { ...settings, channelId: 'other' } : { ...settings, channelId });
  context.after(() => bank.close());
  return bank;
}

/** A connection to it, by default with its own profile. */
export function snapSettingsFor(name: ProfileName, baseUrl: string, changes: Partial<SnapSettings> = {}): SnapSettings {
  const { channelId, own, needsExternalId } = SNAP_BANKS[name];
  const { clientKey, clientSecret, partnerId } = partnerSettings(keys);
  return {
    name: `snap-${name}`,
    baseUrl,
    banks: null,
    clientKey,
    clientSecret,
    privateKey: keys.privateKey,
    partnerId,
    channelId,
    ownBank: own.bic,
    profile: PROFILES[name],
    ...changes,
    choices: { origin: ORIGIN, externalIdIsReference: needsExternalId, ...changes.choices },
  };
}

export function testSnapConformance(name: ProfileName): void {
  const bank = SNAP_BANKS[name];
  testRailConformance({
    name: `SNAP with the profile ${name}`,
    startBank: (context) => startSnapBank(context, bank),
    openRail: (baseUrl) => createRail(baseUrl, keys, snapSettingsFor(name, baseUrl)),
    bankCode: bank.other,
    accountPrefix: '826037',
    verdicts: bank.verdicts,
    isInquiry: (path) => path.includes('/account-inquiry'),
    wrongReplies: {
      'another account': (text) => text.replace(/"beneficiaryAccountNo":"\d/, '"beneficiaryAccountNo":"9'),
      'an unknown code': (text) => text.replace('"2001600"', '"2001699"'),
      'a field twice': (text) => text.replace('{', '{"beneficiaryAccountName":"ANOTHER HOLDER",'),
      'no name': (text) => text.replace(/"beneficiaryAccountName":"[^"]*"/, '"beneficiaryAccountName":""'),
    },
  });
}
