import type { AccountStatus } from '../../../domain/account.ts';
import type { NoVerdictReason } from '../../rail.ts';
import type { InfoTemplate } from '../additional-info.ts';

/**
 * One bank's variant of SNAP. Data only: everything in which banks differ is here, and the rail never checks which bank
 * it has. Where a bank's document does not state a rule, its profile repeats ASPI's.
 *
 * - service: one of SNAP's operations. Its two-character code is part of every response code.
 * - own bank: the bank whose API this is. Its accounts have an inquiry of their own: internal (15), not external (16).
 * - route: the network over which the bank forwards an external inquiry, where its partner may choose.
 */
export interface SnapProfile {
  readonly services: SnapServices;
  /** The form of `beneficiaryBankCode`, in a request and in its reply. */
  readonly bankCode: { readonly sent: BankCodeForm; readonly echoed: BankCodeForm };
  /** CHANNEL-ID where the bank has one for all partners; null where it agrees on one with each (ASPI: 5 characters). */
  readonly channelId: string | null;
  /** The maximum length of X-PARTNER-ID. */
  readonly partnerIdLengthMax: number;
  /**
   * The maximum length of X-EXTERNAL-ID. All digits are used: more of them make a collision of two processes less
   * likely.
   */
  readonly externalIdDigits: number;
  /** The header for the origin, if the partner has one. */
  readonly originHeader: 'origin' | 'x-origin';
  /** Of all requests except token requests, whose signature is asymmetric and in base64 everywhere. */
  readonly signature: { readonly kind: SignatureKind; readonly encoding: SignatureEncoding };
  /** X-TIMESTAMP. */
  readonly timestamp: TimestampStyle;
  /** Whether an inquiry has a `partnerReferenceNo`. A reply that repeats another one is not believed. */
  readonly sendsPartnerReferenceNo: boolean;
  /** By name. The first is the default. */
  readonly routes: Readonly<Record<string, SnapRoute>>;
  /**
   * Response codes of account inquiries whose meaning differs from ASPI's table (codes.ts), by service, HTTP status and
   * case code, such as `16 404 02`.
   */
  readonly codes: Readonly<Record<string, NegativeStatus | NoVerdictReason>>;
  /** Whether NOT_FOUND always means that there is no such account. Where false, the account may be closed. */
  readonly distinguishesClosed: boolean;
  /** Whether a status inquiry must name the X-EXTERNAL-ID of the transfer's order. */
  readonly statusInquiryNeedsExternalId: boolean;
  /** How long after the order the bank expects the first status inquiry; null where it may be asked at any time. */
  readonly firstStatusInquiryMs: number | null;
}

export interface SnapServices {
  readonly accessToken: { readonly path: string };
  /** Null where the bank has no accounts of its own. */
  readonly accountInquiryInternal: OwnAccountInquiry | null;
  readonly accountInquiryExternal: SnapServiceAt;
  /** Null where the bank has no accounts of its own. */
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
  /** The length of the bank's own account numbers. The route has that of other banks. */
  readonly accountDigits: { readonly min: number; readonly max: number };
}

/** `clearing_and_branch`: the clearing code and the four digits of the head office's branch (Midtrans). */
export type BankCodeForm = 'bic' | 'clearing_code' | 'clearing_and_branch';

export type SignatureKind = 'symmetric' | 'asymmetric';
export type SignatureEncoding = 'base64' | 'hex';

/** `2026-11-21T10:30:24+07:00`, `2026-11-21T03:30:24Z`, `2026-11-21T03:30:24.123Z`. */
export type TimestampStyle = 'jakarta' | 'utc' | 'utc_milliseconds';

export interface SnapRoute {
  /** The maximum length of an account number. */
  readonly accountDigitsMax: number;
  /** Null where the route needs none. */
  readonly additionalInfo: InfoTemplate | null;
  /**
   * A field of the reply that, if present, must have this value for a success to count. Null where there is no such
   * field.
   */
  readonly confirmation: { readonly field: string; readonly value: string } | null;
  /** How the route resolves an alias of BI-FAST; absent where it does not. */
  readonly alias?: SnapAliasInquiry;
}

/** An inquiry about the account behind an alias (service 16). `beneficiaryAccountNo` is the alias too. */
export interface SnapAliasInquiry {
  /** `beneficiaryBankCode`, which is mandatory although the bank is not known. */
  readonly bankCode: string;
  readonly additionalInfo: InfoTemplate;
}
