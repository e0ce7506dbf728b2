// Every rule of a profile, and for each rule the replacements that break the exchange with the bank.

import type { SnapProfile } from '../../apps/server/src/rails/snap/profiles/profile.ts';
import { PROFILES, type ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import { SNAP_BANKS } from './snap-banks.ts';

/** The member names on the way to a rule. */
export type RulePath = readonly string[];

export interface Mutation {
  readonly what: string;
  readonly profile: SnapProfile;
  /** The check that must fail. */
  readonly breaks: string;
}

/** Every value of the profile that contains no others. A rule that is added later is found without a change here. */
export function rulesOf(value: unknown, path: RulePath = []): RulePath[] {
  const inner = typeof value === 'object' && value !== null && !(value instanceof RegExp) ? Object.entries(value) : [];
  return inner.length === 0 ? [path] : inner.flatMap(([name, each]) => rulesOf(each, [...path, name]));
}

interface Replacement {
  readonly by: unknown;
  readonly breaks: string;
}

/** Removes a rule. */
const REMOVED = Symbol('removed');

const ROUTE_NEEDS_MORE = PROFILES.bca.routes['bifast']?.additionalInfo;
const CONFIRMED_BY_ANOTHER = { field: 'beneficiaryAccountName', value: 'ACTC' };

export function mutationsOf(name: ProfileName, path: RulePath): Mutation[] {
  const profile = PROFILES[name];
  return replacementsOf(name, path).map(({ by, breaks }) => ({
    what: by === REMOVED ? 'is removed' : `is ${by instanceof RegExp ? String(by) : JSON.stringify(by)}`,
    profile: replaced(profile, path, by),
    breaks,
  }));
}

function replacementsOf(name: ProfileName, path: RulePath): Replacement[] {
  const bank = SNAP_BANKS[name];
  const value = valueAt(PROFILES[name], path);
  const [firstRoute = ''] = Object.keys(bank.routes);
  const inquiry = `another bank's account by ${firstRoute}`;
  const [area, ...rest] = path;
  const standardOrNot = (): unknown => {
    const standard = valueAt(PROFILES.aspi, path);
    return standard === value ? valueAt(PROFILES.bca, path) : standard;
  };

  switch (area === 'services' || area === 'routes' ? area : path.join('.')) {
    case 'services':
      return serviceReplacements(name, rest, standardOrNot());
    case 'routes':
      return routeReplacements(name, rest, value);
    case 'bankCode.sent':
      // Both codes are replaced: otherwise only the repeated code would not fit.
      return [{ by: wrongBankCode(name), breaks: inquiry }];
    case 'bankCode.echoed':
      return [{ by: name === 'midtrans' ? 'bic' : 'clearing_code', breaks: inquiry }];
    case 'channelId':
      return [{ by: standardOrNot(), breaks: inquiry }];
    case 'partnerIdLengthMax':
      return [-1, 1].map((more) => ({ by: bank.partnerIdLengthMax + more, breaks: 'lengths of the partner id' }));
    case 'externalIdDigits':
      return [{ by: bank.externalIdDigitsMax + 1, breaks: inquiry }];
    case 'originHeader':
      return [{ by: 'x-origin', breaks: inquiry }];
    case 'signature.kind':
      return [{ by: 'asymmetric', breaks: inquiry }];
    case 'signature.encoding':
      return [{ by: 'hex', breaks: inquiry }];
    case 'timestamp':
      return (name === 'midtrans' ? ['jakarta', 'utc'] : ['utc_milliseconds']).map((by) => ({ by, breaks: inquiry }));
    case 'sendsPartnerReferenceNo':
      return [{ by: false, breaks: 'a reply to another inquiry' }];
    case 'codes':
      return [{ by: { '16 200 00': 'credentials_rejected' }, breaks: inquiry }];
    case 'codes.16 404 02':
      return [REMOVED, 'NOT_FOUND', 'credentials_rejected'].map((by) => ({ by, breaks: 'the limit of inquiries' }));
    case 'distinguishesClosed':
      return [{ by: value === false, breaks: 'a closed account' }];
    case 'statusInquiryNeedsExternalId':
      return [{ by: value === false, breaks: 'transfers whose external id is unknown' }];
    case 'firstStatusInquiryMs':
      return [{ by: value === null ? 600_000 : null, breaks: 'the time of the first status inquiry' }];
    default:
      return [];
  }
}

/** A form that this bank rejects. */
function wrongBankCode(name: ProfileName): string {
  if (name === 'bca') return 'clearing_code';
  return name === 'midtrans' ? 'bic' : 'clearing_and_branch';
}

function serviceReplacements(name: ProfileName, path: RulePath, other: unknown): Replacement[] {
  const [service = '', ...rule] = path;
  const [firstRoute = ''] = Object.keys(SNAP_BANKS[name].routes);
  const breaks: Readonly<Record<string, string>> = {
    accessToken: `another bank's account by ${firstRoute}`,
    accountInquiryInternal: 'the own account',
    accountInquiryExternal: `another bank's account by ${firstRoute}`,
    transferIntrabank: 'a transfer within the bank',
    transferInterbank: 'a transfer to another bank',
    transferStatus: 'a transfer to another bank',
  };
  const broken = breaks[service];
  if (broken === undefined) return [];
  switch (rule.join('.')) {
    case 'path':
    case '': // The bank has none: it is replaced by the standard's.
      return [{ by: other, breaks: broken }];
    case 'code':
      return [{ by: '99', breaks: broken }];
    case 'accountDigits.min':
      return [{ by: SNAP_BANKS[name].own.digits[0] === 10 ? 1 : 6, breaks: 'lengths of own accounts' }];
    case 'accountDigits.max':
      return [{ by: SNAP_BANKS[name].own.digits[1] === 34 ? 33 : 34, breaks: 'lengths of own accounts' }];
    default:
      return [];
  }
}

function routeReplacements(name: ProfileName, path: RulePath, value: unknown): Replacement[] {
  const [route = '', rule = '', ...member] = path;
  const inquiry = `another bank's account by ${route}`;
  switch (rule) {
    case 'accountDigitsMax':
      return [{ by: value === 34 ? 33 : 34, breaks: `lengths of accounts by ${route}` }];
    case 'confirmation':
      if (value === null) return [{ by: CONFIRMED_BY_ANOTHER, breaks: inquiry }];
      return [{ by: 'another', breaks: member[0] === 'field' ? `a denied success by ${route}` : inquiry }];
    case 'additionalInfo':
      return infoReplacements(name, route, member, value);
    case 'alias':
      return aliasReplacements(route, member, value);
    default:
      return [];
  }
}

function aliasReplacements(route: string, member: RulePath, value: unknown): Replacement[] {
  const inquiry = `an alias by ${route}`;
  if (value instanceof RegExp) {
    const parameter = member.at(-2) === 'debtorAccount' ? 'debtor_account' : 'category_purpose';
    return [
      { by: /^never$/, breaks: inquiry },
      { by: /^/, breaks: `an invalid ${parameter} for an alias by ${route}` },
    ];
  }
  return [{ by: 'another', breaks: inquiry }];
}

function infoReplacements(name: ProfileName, route: string, member: RulePath, value: unknown): Replacement[] {
  const inquiry = `another bank's account by ${route}`;
  // Null: the route needs none.
  if (value === null) return [{ by: ROUTE_NEEDS_MORE, breaks: inquiry }];
  if (value instanceof RegExp) {
    const parameter = String(
      valueAt(PROFILES[name], ['routes', route, 'additionalInfo', ...member.slice(0, -1), 'parameter']),
    );
    return [
      { by: /^never$/, breaks: inquiry },
      { by: /^/, breaks: `an invalid ${parameter} for ${route}` },
    ];
  }
  if (member.at(-1) === 'parameter') return [{ by: 'another', breaks: inquiry }];
  // Without a switcher in the request, the bank chooses one and answers.
  const withoutMember = member.join() === 'switcher' ? `the switcher of ${route}` : inquiry;
  return [
    { by: 'another', breaks: inquiry },
    { by: REMOVED, breaks: withoutMember },
  ];
}

function valueAt(value: unknown, [name, ...rest]: RulePath): unknown {
  if (name === undefined) return value;
  return typeof value === 'object' && value !== null ? valueAt(Reflect.get(value, name), rest) : undefined;
}

/** The profile with another value at the path. The value may have the wrong type on purpose, hence the cast. */
function replaced(profile: SnapProfile, path: RulePath, by: unknown): SnapProfile {
  const changed = structuredProfile(profile, path, by) as SnapProfile;
  return path.join('.') === 'bankCode.sent'
    ? { ...changed, bankCode: { sent: changed.bankCode.sent, echoed: changed.bankCode.sent } }
    : changed;
}

function structuredProfile(value: unknown, [name, ...rest]: RulePath, by: unknown): unknown {
  if (name === undefined) return by;
  const { [name]: old, ...others } = value as Record<string, unknown>;
  return rest.length === 0 && by === REMOVED
    ? others
    : { ...(value as object), [name]: structuredProfile(old, rest, by) };
}
