import type { ErrorCode, TibaError } from '../../client/src/index.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

interface ErrorDetails {
  /** What to do next. */
  readonly advice?: string | undefined;
  readonly cause?: unknown;
}

/** A failure that the person at the keyboard can mend: the message says what is wrong, the advice what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  readonly advice: string | null;

  constructor(exit: keyof typeof EXIT, message: string, { advice, cause }: ErrorDetails = {}) {
    super(message, { cause });
    this.exitCode = EXIT[exit];
    this.advice = advice ?? null;
  }
}

/** A failure as it is reported. */
export interface Report {
  readonly exitCode: ExitCode;
  readonly error_code: string | null;
  readonly message: string;
  readonly advice: string | null;
  readonly request_id: string | null;
}

export function reportOf(error: unknown): Report {
  if (error instanceof CommandError) {
    const { exitCode, message, advice } = error;
    return { exitCode, error_code: null, message, advice, request_id: null };
  }
  if (isTibaError(error)) {
    const { error_code: code, requestId } = error;
    const exitCode = code === 'LOGIN_FAILED' || code === 'UNAUTHORIZED' ? EXIT.notLoggedIn : EXIT.error;
    const message = MESSAGES[code] ?? error.message.replace(`${code}: `, '');
    return { exitCode, error_code: code, message, advice: ADVICE[code]?.(error) ?? null, request_id: requestId };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const advice = 'This is a fault of the program: please report it with these lines.';
  return { exitCode: EXIT.error, error_code: null, message, advice, request_id: null };
}

/** By its name: the client is loaded only by commands that need it. */
export const isTibaError = (error: unknown): error is TibaError => error instanceof Error && error.name === 'TibaError';

const retryLater = (error: TibaError): string => `Try again in ${Math.ceil((error.retryAfterMs ?? 1_000) / 1_000)} s.`;
/** What to do when a login is refused. */
export const LOG_IN_AGAIN =
  'Log in again with `tiba login`. TIBA_CLIENT_ID and TIBA_CLIENT_SECRET come before that login: where they are set, ' +
  'correct or unset them.';

const GO_ON_AFTER =
  'Then run the command again with --after and the number of that event, or with --after 0 if the service is a new ' +
  'sandbox.';

/** Where the client package speaks of its own options, which the command line does not have. */
const MESSAGES: { readonly [Code in ErrorCode]?: string } = {
  CONNECTION_FAILED: 'there is no connection to the service',
  TIMEOUT: 'the service has not answered in time',
};

const CHECK_ADDRESS = 'Check the address of the service with `tiba profiles`, and what is between here and there.';

/** What to do about a code, where the message of the service cannot name the command for it. */
const ADVICE: { readonly [Code in ErrorCode]?: (error: TibaError) => string } = {
  CONNECTION_FAILED: ({ cause }) => `${reasonOf(cause)}. Run \`tiba doctor\` to see how far the connection gets.`,
  LOGIN_FAILED: () => LOG_IN_AGAIN,
  UNAUTHORIZED: () => LOG_IN_AGAIN,
  FORBIDDEN: () => 'Ask the operator of the service for the scope; `tiba doctor` lists those that you have.',
  INVALID_BANK_CODE: () => 'Search for its code with `tiba banks NAME`.',
  UNSUPPORTED_BANK: () => 'Accounts of this bank cannot be checked; `tiba banks` shows which can.',
  RATE_LIMIT_EXCEEDED: retryLater,
  SERVICE_UNAVAILABLE: retryLater,
  EVENTS_GAP: () => GO_ON_AFTER,
  EVENTS_RESTORED: () => GO_ON_AFTER,
  TIMEOUT: () => 'Run the command again, or `tiba doctor` to see how far the connection gets.',
  NOT_FOUND: () => CHECK_ADDRESS,
  ENDPOINT_NOT_FOUND: () => 'See `tiba callbacks list`.',
  UNEXPECTED_ANSWER: () => CHECK_ADDRESS,
};

/** What the operating system says, such as `connect ECONNREFUSED 127.0.0.1:8080`, from the innermost cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'No reason is known';
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
