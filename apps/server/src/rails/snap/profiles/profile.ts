import type { AccountStatus } from '../../../domain/account.ts';
import type { NoVerdictReason } from '../../rail.ts';
import type { InfoTemplate } from '../additional-info.ts';

/**
 * How one bank speaks SNAP. Data only: the rail takes from it whatever banks differ in, and asks nowhere which bank it
 * has before it. Where a bank's document is silent, its profile repeats ASPI's rule.
 *
 * - service: one of SNAP's operations; its two-character code stands in every response code.
 * - own bank: the bank whose API this is. Its accounts have an inquiry of their own, internal (15) beside external (16).
 * - route: a way by which the bank passes an external inquiry on, when it leaves the choice to its partner.
 */
export interface SnapProfile {
  readonly services: SnapServices;
  /** How `beneficiaryBankCode` is written, in a request and in the reply to it. */
  readonly bankCode: { readonly sent: BankCodeForm; readonly echoed: BankCodeForm };
  /** CHANNEL-ID where the bank has one for everybody; null where it agrees one with each partner (ASPI: 5 characters). */
  readonly channelId: string | null;
  /** The longest X-PARTNER-ID that the bank takes. */
  readonly partnerIdLengthMax: number;
  /** How many digits an X-EXTERNAL-ID may have. All are used: the more, the less likely that two processes share one. */
  readonly externalIdDigits: number;
  /** The header that carries the origin, if the partner has one. */
  readonly originHeader: 'origin' | 'x-origin';
  /** Of everything but the request for a token, which is asymmetric and in base64 everywhere. */
  readonly signature: { readonly kind: SignatureKind; readonly encoding: SignatureEncoding };
  /** X-TIMESTAMP. */
  readonly timestamp: TimestampStyle;
  /** Whether an inquiry carries `partnerReferenceNo`, which a reply that echoes one is then held against. */
  readonly sendsPartnerReferenceNo: boolean;
  /** By name. The first is taken unless the operator chooses another. */
  readonly routes: Readonly<Record<string, SnapRoute>>;
  /**
   * Response codes of account inquiries that mean something else here than in ASPI's table (account-verdict.ts), by
   * service, HTTP status and case code, such as `16 404 02`.
   */
  readonly codes: Readonly<Record<string, NegativeStatus | NoVerdictReason>>;
  /** Whether NOT_FOUND always means that there is no such account; where false, it may be closed. */
  readonly distinguishesClosed: boolean;
  /** Whether a question about a transfer must name the X-EXTERNAL-ID with which it was ordered. */
  readonly statusInquiryNeedsExternalId: boolean;
}

export interface SnapServices {
  readonly accessToken: { readonly path: string };
  /** Null where there are no own accounts. */
  readonly accountInquiryInternal: OwnAccountInquiry | null;
  readonly accountInquiryExternal: SnapServiceAt;
  /** Null where there are no own accounts. */
  readonly transferIntrabank: SnapServiceAt | null;
  readonly transferInterbank: SnapServiceAt;
  readonly transferStatus: SnapServiceAt;
}

export interface SnapServiceAt {
  /** Below the bank's address. */
  readonly path: string;
  /** Two characters; ASPI's are digits, but banks have letters in some (BCA's `200US00`). */
  readonly code: string;
}

export type NegativeStatus = Exclude<AccountStatus, 'ACTIVE'>;

export interface OwnAccountInquiry extends SnapServiceAt {
  /** How long the bank's own account numbers are. Those of other banks are the route's matter. */
  readonly accountDigits: { readonly min: number; readonly max: number };
}

/** `clearing_and_branch`: the clearing code and the four digits of the head office's branch (Midtrans). */
export type BankCodeForm = 'bic' | 'clearing_code' | 'clearing_and_branch';

export type SignatureKind = 'symmetric' | 'asymmetric';
export type SignatureEncoding = 'base64' | 'hex';

/** `2026-11-21T10:30:24+07:00`, `2026-11-21T03:30:24Z`, `2026-11-21T03:30:24.123Z`. */
export type TimestampStyle = 'jakarta' | 'utc' | 'utc_milliseconds';

export interface SnapRoute {
  /** The longest account number that it carries. */
  readonly accountDigitsMax: number;
  /** Null where none is needed. */
  readonly additionalInfo: InfoTemplate | null;
  /** A field of the reply that, if it is there, must say this, or the success is none. Null where there is no such field. */
  readonly confirmation: { readonly field: string; readonly value: string } | null;
}
