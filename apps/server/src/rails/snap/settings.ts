import type { KeyObject } from 'node:crypto';
import type { RailSettings } from '../protocol.ts';

/** One SNAP connection, as agreed between the operator and the bank. */
export interface SnapSettings extends RailSettings {
  /** X-CLIENT-KEY. */
  readonly clientKey: string;
  /** The HMAC key of symmetric signatures. */
  readonly clientSecret: string;
  /** RSA; signs the request for a token. */
  readonly privateKey: KeyObject;
  /** X-PARTNER-ID. */
  readonly partnerId: string;
  /** CHANNEL-ID. */
  readonly channelId: string;
  /** BIC of the bank whose API this is: its own accounts and transfers to them have services of their own. */
  readonly ownBank: string | null;
}

/** Where a connection's services are. Paths are as they stand in the request line, which is what signatures cover. */
export interface SnapEndpoints {
  readonly origin: string;
  readonly accessToken: string;
  readonly accountInquiryInternal: string;
  readonly accountInquiryExternal: string;
  readonly transferIntrabank: string;
  readonly transferInterbank: string;
  readonly transferStatus: string;
}

/** ASPI's paths below the bank's address, which may have a path of its own. */
export function snapEndpoints(baseUrl: string): SnapEndpoints {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/$/, '');
  return {
    origin,
    accessToken: `${prefix}/v1.0/access-token/b2b`,
    accountInquiryInternal: `${prefix}/v1.0/account-inquiry-internal`,
    accountInquiryExternal: `${prefix}/v1.0/account-inquiry-external`,
    transferIntrabank: `${prefix}/v1.0/transfer-intrabank`,
    transferInterbank: `${prefix}/v1.0/transfer-interbank`,
    transferStatus: `${prefix}/v1.0/transfer/status`,
  };
}
