// What a test knows of the banks that speak SNAP, stated once more: neither the service's profiles nor the simulated bank's
// rules are asked for it.

import type { TestContext } from 'node:test';
import type { BankProfileName } from '../../apps/bank/src/profile-names.ts';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import type { BankSettings } from '../../apps/bank/src/settings.ts';
import type { Verdict } from '../../apps/server/src/domain/account.ts';
import { PROFILES, type ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testRailConformance } from './conformance.ts';
import { createRail } from './connection.ts';

type Negative = Exclude<Verdict['status'], 'ACTIVE'>;

export interface SnapBank {
  readonly form: BankProfileName;
  /** What the operator was given; empty where the bank has one for everybody. */
  readonly channelId: string;
  readonly partnerIdLengthMax: number;
  readonly externalIdDigitsMax: number;
  /** A bank with accounts of its own, as the service is told; the last is what its success is called. */
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
  /** Its status inquiry wants the X-EXTERNAL-ID of the order. */
  readonly needsExternalId: boolean;
}

export interface SnapBankRoute {
  readonly digitsMax: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** The switcher that must be named, where the bank would choose one by itself. */
  readonly switcher?: string;
  /** Values that this bank does not take. */
  readonly wrong: Readonly<Record<string, string>>;
  /** How its replies say that a success is one after all, and what they say otherwise. */
  readonly confirmed?: { readonly by: string; readonly instead: string };
}

const DISTINCT: SnapBank['verdicts'] = { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'BLOCKED' };
const ALL_NOT_FOUND: SnapBank['verdicts'] = { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'NOT_FOUND', BLOCKED: 'NOT_FOUND' };
const PLAIN: SnapBankRoute = { digitsMax: 34, parameters: {}, wrong: {} };

const STANDARD: SnapBank = {
  form: 'snap',
  channelId: '95221',
  partnerIdLengthMax: 36,
  externalIdDigitsMax: 36,
  own: { code: 'BCA', bic: 'CENAIDJA', digits: [5, 34], success: '2001500' },
  other: 'BRI',
  routes: { direct: PLAIN },
  verdicts: DISTINCT,
  needsExternalId: false,
};

export const SNAP_BANKS: Readonly<Record<ProfileName, SnapBank>> = {
  aspi: STANDARD,
  bca: {
    ...STANDARD,
    form: 'snap-bca',
    channelId: '',
    partnerIdLengthMax: 10,
    externalIdDigitsMax: 32,
    own: { ...STANDARD.own, digits: [10, 10] },
    routes: {
      switcher: { ...PLAIN, digitsMax: 28 },
      bifast: {
        digitsMax: 34,
        parameters: { source_account_no: '8880001000', amount: '10000.00', purpose_code: '99' },
        wrong: { source_account_no: '888000100', amount: '10000', purpose_code: '04' },
      },
    },
    verdicts: ALL_NOT_FOUND,
    needsExternalId: true,
  },
  bri: {
    ...STANDARD,
    form: 'snap-bri',
    own: { ...STANDARD.own, code: 'BRI', bic: 'BRINIDJA', digits: [5, 15] },
    other: 'BNI',
  },
  mandiri: {
    ...STANDARD,
    form: 'snap-mandiri',
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
        wrong: { category_purpose: '' },
        confirmed: { by: 'ACTC', instead: 'RJCT' },
      },
    },
    verdicts: ALL_NOT_FOUND,
  },
  midtrans: {
    ...STANDARD,
    form: 'snap-midtrans',
    // It keeps no accounts: those of "its own" bank are asked about like any other.
    own: { ...STANDARD.own, digits: [5, 20], success: '2001600' },
    routes: { direct: { ...PLAIN, digitsMax: 20 } },
  },
};

const ORIGIN = 'tiba.example';

const keys = rsaKeys();

/** The simulated bank as this one; it is closed with the test. */
export async function startSnapBank(
  context: TestContext,
  { form, channelId }: SnapBank,
  changes: Partial<BankSettings> = {},
): Promise<RunningBank> {
  const settings: BankSettings = { ...partnerSettings(keys), form, origin: ORIGIN, ...changes };
  const bank = await startBank(channelId === '' ? { ...settings, channelId: 'other' } : { ...settings, channelId });
  context.after(() => bank.close());
  return bank;
}

/** A connection to it, with its own profile unless told otherwise. */
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
    name: `SNAP as ${name} speaks it`,
    startBank: (context) => startSnapBank(context, bank),
    openRail: (baseUrl) => createRail(baseUrl, keys, snapSettingsFor(name, baseUrl)),
    bankCode: bank.other,
    accountPrefix: '826037',
    verdicts: bank.verdicts,
    isInquiry: (path) => path.includes('/account-inquiry'),
    wrongReplies: {
      'another account': (text) => text.replace(/"beneficiaryAccountNo":"\d/, '"beneficiaryAccountNo":"9'),
      'an unknown code': (text) => text.replace('"2001600"', '"2001699"'),
      'a field twice': (text) => text.replace('{', '{"beneficiaryAccountName":"SOMEBODY ELSE",'),
      'no name': (text) => text.replace(/"beneficiaryAccountName":"[^"]*"/, '"beneficiaryAccountName":""'),
    },
  });
}
