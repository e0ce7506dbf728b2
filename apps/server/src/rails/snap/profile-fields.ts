import { type Static, Type } from 'typebox';
import { faultyParameters, type InfoTemplate } from './additional-info.ts';
import type { SnapProfile, SnapServiceAt, SnapServices } from './profiles/profile.ts';
import { PROFILES, type ProfileName } from './profiles/profiles.ts';
import { findRoute, type SnapChoices } from './settings.ts';

const Path = Type.Optional(Type.String({ pattern: '^/[!-~]*[!-.0-~]$' }));

/** The fields of a connection that describe its bank's variant of SNAP. docs/snap.md explains them. */
export const PROFILE_FIELDS = {
  profile: Type.Optional(Type.Enum(Object.keys(PROFILES) as ProfileName[])),
  route: Type.Optional(Type.String()),
  route_parameters: Type.Optional(Type.Record(Type.String(), Type.String())),
  origin: Type.Optional(Type.String({ pattern: '^[!-~]{1,200}$' })),
  external_id_is_reference: Type.Optional(Type.Boolean()),
  // These replace a rule of the profile, where the bank agreed on another or its document did not state one.
  bank_code: Type.Optional(Type.Enum(['bic', 'clearing_code', 'clearing_and_branch'])),
  signature: Type.Optional(Type.Enum(['symmetric', 'asymmetric'])),
  signature_encoding: Type.Optional(Type.Enum(['base64', 'hex'])),
  timestamp: Type.Optional(Type.Enum(['jakarta', 'utc', 'utc_milliseconds'])),
  origin_header: Type.Optional(Type.Enum(['origin', 'x-origin'])),
  paths: Type.Optional(
    Type.Object(
      {
        access_token: Path,
        account_inquiry_internal: Path,
        account_inquiry_external: Path,
        transfer_status: Path,
      },
      { additionalProperties: false },
    ),
  ),
};

const Entry = Type.Object({ ...PROFILE_FIELDS, partner_id: Type.String(), channel_id: Type.Optional(Type.String()) });
type ProfileEntry = Static<typeof Entry>;

export interface ReadProfile {
  readonly profile: SnapProfile;
  readonly choices: SnapChoices;
  /** Sentences, without the connection's name. */
  readonly faults: string[];
}

/** The bank's variant of SNAP: its profile, with the operator's replacements. */
export function readProfile(entry: ProfileEntry): ReadProfile {
  const profile = replaceRules(PROFILES[entry.profile ?? 'aspi'], entry);
  const choices: SnapChoices = {
    ...(entry.route === undefined ? {} : { route: entry.route }),
    ...(entry.route_parameters === undefined ? {} : { routeParameters: entry.route_parameters }),
    ...(entry.origin === undefined ? {} : { origin: entry.origin }),
    externalIdIsReference: entry.external_id_is_reference ?? false,
  };
  return { profile, choices, faults: profileFaults(profile, choices, entry.partner_id, entry.channel_id) };
}

/** The choices that do not fit the profile. `channelId` is undefined where the operator gave none. */
export function profileFaults(
  profile: SnapProfile,
  { route: routeName, routeParameters = {} }: SnapChoices,
  partnerId: string,
  channelId: string | undefined,
): string[] {
  const faults: string[] = [];
  const route = findRoute(profile, routeName);
  if (route === undefined) faults.push(`route must be one of ${Object.keys(profile.routes).join(', ')}`);
  faults.push(...parameterFaults(route?.additionalInfo ?? null, routeParameters));
  const { partnerIdLengthMax, channelId: required } = profile;
  if (partnerId.length > partnerIdLengthMax) {
    faults.push(`partner_id is longer than the bank's maximum of ${partnerIdLengthMax} characters`);
  }
  if (required === null && channelId === undefined) faults.push('channel_id is missing');
  if (required !== null && channelId !== undefined && channelId !== required)
    faults.push(`channel_id must be ${required}`);
  return faults;
}

/** The same for a connection that resolves aliases. */
export function aliasFaults(profile: SnapProfile, { route: routeName, routeParameters = {} }: SnapChoices): string[] {
  const route = findRoute(profile, routeName);
  if (route === undefined) return [];
  if (route.alias === undefined) return ['aliases: the route has no inquiry by alias'];
  return parameterFaults(route.alias.additionalInfo, routeParameters);
}

const parameterFaults = (template: InfoTemplate | null, given: Readonly<Record<string, string>>): string[] =>
  faultyParameters(template, given).map((name) => `route_parameters.${name} is missing or malformed`);

function replaceRules(profile: SnapProfile, entry: ProfileEntry): SnapProfile {
  const { bank_code: bankCode, origin_header: originHeader = profile.originHeader } = entry;
  return {
    ...profile,
    services: replacePaths(profile.services, entry.paths ?? {}),
    bankCode: bankCode === undefined ? profile.bankCode : { sent: bankCode, echoed: bankCode },
    originHeader,
    signature: {
      kind: entry.signature ?? profile.signature.kind,
      encoding: entry.signature_encoding ?? profile.signature.encoding,
    },
    timestamp: entry.timestamp ?? profile.timestamp,
  };
}

function replacePaths(services: SnapServices, paths: NonNullable<ProfileEntry['paths']>): SnapServices {
  const { accountInquiryInternal: internal } = services;
  const at = <Service extends SnapServiceAt>(service: Service, path = service.path): Service => ({ ...service, path });
  return {
    ...services,
    accessToken: { path: paths.access_token ?? services.accessToken.path },
    accountInquiryInternal: internal === null ? null : at(internal, paths.account_inquiry_internal),
    accountInquiryExternal: at(services.accountInquiryExternal, paths.account_inquiry_external),
    transferStatus: at(services.transferStatus, paths.transfer_status),
  };
}
