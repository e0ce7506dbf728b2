import type { KeyObject } from 'node:crypto';
import { ownProperty } from '../../lib/own-property.ts';
import type { AliasSettings } from '../aliases.ts';
import type { RailSettings } from '../protocol.ts';
import { ASPI } from './profiles/aspi.ts';
import type { SnapProfile, SnapRoute } from './profiles/profile.ts';
import type { WalletRoutes } from './wallets.ts';

/** One SNAP connection, as agreed between the operator and the bank. */
export interface SnapSettings extends RailSettings {
  /** X-CLIENT-KEY. */
  readonly clientKey: string;
  /** The HMAC key of symmetric signatures. */
  readonly clientSecret: string;
  /** RSA. Signs the token requests, and all requests where the bank requires asymmetric signatures. */
  readonly privateKey: KeyObject;
  /** X-PARTNER-ID. */
  readonly partnerId: string;
  /** CHANNEL-ID, unless the profile has one. */
  readonly channelId: string;
  /** BIC of the bank whose API this is. Its own accounts, and transfers to them, have services of their own. */
  readonly ownBank: string | null;
  /** The bank's variant of SNAP; ASPI's standard when absent. */
  readonly profile?: SnapProfile;
  /** What the bank lets its partner choose; the defaults when absent. */
  readonly choices?: SnapChoices;
  /** The e-wallets that this connection reaches; none when absent. */
  readonly wallets?: WalletRoutes;
  /** Null or absent where aliases were not agreed on. */
  readonly aliases?: AliasSettings | null;
}

export interface SnapChoices {
  /** One of the profile's routes. */
  readonly route?: string;
  /** The parameters of the route's `additionalInfo`. */
  readonly routeParameters?: Readonly<Record<string, string>>;
  /** The value of ORIGIN, or of the header that replaces it. */
  readonly origin?: string;
  /** The core orders transfers with the same text as X-EXTERNAL-ID and as `partnerReferenceNo`. */
  readonly externalIdIsReference?: boolean;
}

export const profileOf = ({ profile }: SnapSettings): SnapProfile => profile ?? ASPI;

/** The route with this name, or the first one without a name; undefined where the profile has no such route. */
export function findRoute(profile: SnapProfile, name: string | undefined): SnapRoute | undefined {
  const [first] = Object.keys(profile.routes);
  const chosen = name ?? first ?? '';
  return ownProperty(profile.routes, chosen);
}
