import type { UploadReader } from '../../account-validations/uploads/upload-reader.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { Authorize, Reauthorize } from '../authorize.ts';

/** What the operations on account validations work with. */
export interface AccountValidationDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly uploads: Pick<UploadReader, 'read'>;
  readonly inquiries: Pick<AccountInquiries, 'snapshot'>;
  /** Whether the caller of a long answer would still be let in. */
  readonly reauthorize: Reauthorize;
  /** A job is new. */
  readonly onCreated: () => void;
  /** The service closes: long answers end. */
  readonly closing: AbortSignal;
}
