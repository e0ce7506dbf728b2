import type { KeyObject } from 'node:crypto';
import { ownProperty } from '../../lib/own-property.ts';
import type { RailSettings } from '../protocol.ts';
import { ASPI } from './profiles/aspi.ts';
import type { SnapProfile, SnapRoute } from './profiles/profile.ts';

/** One SNAP connection, as agreed between the operator and the bank. */
export interface SnapSettings extends RailSettings {
  /** X-CLIENT-KEY. */
  readonly clientKey: string;
  /** The HMAC key of symmetric signatures. */
  readonly clientSecret: string;
  /** RSA; signs the request for a token, and all requests where the bank wants asymmetric signatures. */
  readonly privateKey: KeyObject;
  /** X-PARTNER-ID. */
  readonly partnerId: string;
  /** CHANNEL-ID, unless the profile has one. */
  readonly channelId: string;
  /** BIC of the bank whose API this is: its own accounts and transfers to them have services of their own. */
  readonly ownBank: string | null;
  /** How the bank speaks; ASPI's standard when absent. */
  readonly profile?: SnapProfile;
  /** What the bank leaves to its partner; its own defaults when absent. */
  readonly choices?: SnapChoices;
}

export interface SnapChoices {
  /** One of the profile's routes. */
  readonly route?: string;
  /** What the route's `additionalInfo` needs. */
  readonly routeParameters?: Readonly<Record<string, string>>;
  /** The value of ORIGIN, or of the header that stands for it. */
  readonly origin?: string;
  /** The core orders transfers with one text as X-EXTERNAL-ID and as `partnerReferenceNo`. */
  readonly externalIdIsReference?: boolean;
}

export const profileOf = ({ profile }: SnapSettings): SnapProfile => profile ?? ASPI;

/** The route that was chosen, or the first; undefined where the profile has none of that name. */
export function findRoute(profile: SnapProfile, name: string | undefined): SnapRoute | undefined {
  const [first] = Object.keys(profile.routes);
  const chosen = name ?? first ?? '';
  return ownProperty(profile.routes, chosen);
}
