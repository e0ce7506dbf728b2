import { isPlainText, withoutBidiControls } from '../domain/identifiers.ts';
import { NoReply } from './bank-http.ts';
import type { NoVerdictReason } from './rail.ts';

/** What every protocol reads from a bank's reply, or from its absence, in the same way. */

/** Why an inquiry has no result: the port's reason, and the bank's own code where it sent one. */
export interface InquiryFailure {
  readonly reason: NoVerdictReason;
  readonly railCode: string | null;
}

/**
 * The reason for an HTTP status when the reply says nothing about the account or transfer. 400 counts as
 * `credentials_rejected`: a proxy or gateway in front of a bank also answers 400 when it rejects a certificate. Only a
 * code in the bank's own body can say that this one inquiry was rejected.
 */
export function reasonForHttpStatus(httpStatus: number): NoVerdictReason {
  if (httpStatus === 429) return 'throttled';
  if (httpStatus === 504) return 'timeout';
  if (httpStatus >= 500 || httpStatus === 202) return 'bank_unavailable';
  return httpStatus >= 400 ? 'credentials_rejected' : 'invalid_response';
}

/** The failure that an error of an HTTP exchange stands for. `signal` is the one that the exchange was given. */
export function inquiryFailureOf(error: unknown, signal: AbortSignal): InquiryFailure {
  if (error instanceof NoReply) {
    return { reason: error.reason === 'unreadable' ? 'invalid_response' : error.reason, railCode: null };
  }
  return { reason: signal.aborted ? 'timeout' : 'unreachable', railCode: null };
}

// Nearly every name is printable ASCII without spaces at its ends. One test accepts those.
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * An account holder's name, trimmed, in Unicode's composed form (NFC) and without bidirectional controls: they are
 * removed, because the account is a good one and its name can be shown without them. Null when the name is absent,
 * empty, too long or not plain text. `lengthMax` is the protocol's limit, in characters.
 */
export function readHolderName(text: string | null | undefined, lengthMax: number): string | null {
  if (typeof text === 'string' && text.length <= lengthMax && PLAIN.test(text)) return text;
  const name = withoutBidiControls(text ?? '')
    .trim()
    .normalize('NFC');
  return name !== '' && isPlainText(name, lengthMax) ? name : null;
}
