import type { UploadReader } from '../../account-validations/uploads/upload-reader.ts';
import type { BankDirectory } from '../../domain/bank.ts';
import type { Database } from '../../postgres/database.ts';
import type { AccountInquiries } from '../../rails/account-inquiries.ts';
import type { Gate, Recheck } from '../gate.ts';

/** What the operations on account validations work with. */
export interface AccountValidationParts {
  readonly gate: Gate;
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly uploads: Pick<UploadReader, 'read'>;
  readonly inquiries: Pick<AccountInquiries, 'view'>;
  /** Whether the caller of a long answer would still be let in. */
  readonly recheck: Recheck;
  /** A job is new. */
  readonly onStored: () => void;
  /** The service closes: long answers end. */
  readonly closing: AbortSignal;
}
