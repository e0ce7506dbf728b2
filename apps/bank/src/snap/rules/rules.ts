import type { AccountOutcome } from '../../accounts.ts';
import type { BodyFields, FieldRule } from '../body-fields.ts';
import type { ServiceCode, SnapCase } from '../response-codes.ts';

/**
 * The SNAP rules of one bank. The service has its own statement of these rules and shares nothing with this one, so
 * that an error in either shows when they are tested together.
 */
export interface SnapRules {
  /** BIC of the simulated bank; null for a provider without own accounts, and so without services 15 and 17. */
  readonly ownBic: string | null;
  readonly paths: Readonly<Partial<Record<ServiceCode, string>>>;
  /** CHANNEL-ID of every partner; null if each partner has its own. */
  readonly channelId: string | null;
  readonly partnerIdLengthMax: number;
  readonly externalId: RegExp;
  readonly timestamp: 'any-zone' | 'utc-with-milliseconds';
  readonly bankCode: FieldRule;
  /** The clearing code or BIC that a well-formed `beneficiaryBankCode` means; null for a bank that is not listed. */
  readonly readBankCode: (bankCode: string) => string | null;
  /** `beneficiaryAccountNo` of inquiries about the bank's own accounts, and about accounts at other banks. */
  readonly ownAccountNo: FieldRule;
  readonly otherAccountNo: FieldRule;
  readonly partnerReferenceNo: FieldRule;
  /** `additionalInfo` of external inquiries. */
  readonly info: InfoRules;
  /** The response case of each rejected account inquiry. */
  readonly rejections: Readonly<Record<'15' | '16', Readonly<Record<RejectedAccount, SnapCase>>>>;
  /** Additional rules of this bank for the status inquiry. */
  readonly statusInquiry: readonly FieldRule[];
}

export type RejectedAccount = Exclude<AccountOutcome['kind'], 'active' | 'malformed' | 'no-response'>;

export interface InfoRules {
  readonly mandatory: boolean;
  /** Rules of its members; a dot leads into an object, as in `amount.value`. */
  readonly members: (info: BodyFields) => readonly FieldRule[];
  /** The account number rule that its members determine; null applies `otherAccountNo` alone. */
  readonly accountNo: (info: BodyFields) => FieldRule | null;
  /** Whether the inquiry names the account by an alias of BI-FAST; absent where this bank has no such inquiry. */
  readonly isByAlias?: (info: BodyFields) => boolean;
  /** `additionalInfo` of the response. */
  readonly reply: (info: BodyFields) => object | undefined;
}
