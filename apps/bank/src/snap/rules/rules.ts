import type { AccountOutcome } from '../../accounts.ts';
import type { BodyFields, FieldRule } from '../body-fields.ts';
import type { ServiceCode, SnapCase } from '../response-codes.ts';

/**
 * How one bank wants to be spoken to. This is the bank's own statement: the service has another one, and nothing is shared,
 * so that an error in either shows when they meet.
 */
export interface SnapRules {
  /** BIC of the bank that is played; null for a provider without accounts of its own, and without services 15 and 17. */
  readonly ownBic: string | null;
  readonly paths: Readonly<Partial<Record<ServiceCode, string>>>;
  /** CHANNEL-ID of every partner; null where each has its own. */
  readonly channelId: string | null;
  readonly partnerIdLengthMax: number;
  readonly externalId: RegExp;
  readonly timestamp: 'any-zone' | 'utc-with-milliseconds';
  readonly bankCode: FieldRule;
  /** The clearing code or BIC that a `beneficiaryBankCode` of the right form means; null for one that is not listed. */
  readonly readBankCode: (bankCode: string) => string | null;
  /** `beneficiaryAccountNo` of the inquiry about the bank's own accounts, and about those of others. */
  readonly ownAccountNo: FieldRule;
  readonly otherAccountNo: FieldRule;
  readonly partnerReferenceNo: FieldRule;
  /** `additionalInfo` of external inquiries. */
  readonly info: InfoRules;
  /** How account inquiries are refused. */
  readonly rejections: Readonly<Record<'15' | '16', Readonly<Record<RejectedAccount, SnapCase>>>>;
  /** Rules of the status inquiry that not every bank has. */
  readonly statusInquiry: readonly FieldRule[];
}

export type RejectedAccount = Exclude<AccountOutcome['kind'], 'active' | 'malformed' | 'no-response'>;

export interface InfoRules {
  readonly mandatory: boolean;
  /** Of its members; dots lead into objects, as in `amount.value`. */
  readonly members: (info: BodyFields) => readonly FieldRule[];
  /** What the choice made in it says of the account number. Null leaves it to `otherAccountNo`. */
  readonly accountNo: (info: BodyFields) => FieldRule | null;
  /** What the reply's own `additionalInfo` says. */
  readonly reply: (info: BodyFields) => object | undefined;
}
