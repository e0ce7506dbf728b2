import { StartError } from '../lib/start-error.ts';

/** Why an embedded PostgreSQL could not be started. Each message tells the operator what to do about it. */
export type EmbeddedPostgresErrorCode =
  | 'UNSUPPORTED_PLATFORM'
  | 'NO_ACCESS'
  | 'IN_USE'
  | 'NOT_OUR_DATA_DIRECTORY'
  | 'START_FAILED';

export class EmbeddedPostgresError extends StartError {
  override readonly name = 'EmbeddedPostgresError';
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The `code` of a system error (`ENOENT`) or of a PostgreSQL error (`57P03`, SQLSTATE), or null. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
