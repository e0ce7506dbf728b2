import type { BankReply } from '../bank-http.ts';
import { readHolderName } from '../holder-name.ts';
import { reasonForHttpStatus } from '../http-failure.ts';
import type { InquiryOutcome } from '../rail.ts';
import { readReport } from './read-report.ts';
import type { AcmtSettings } from './settings.ts';
import { outcomeOf, railCodeOf } from './verdicts.ts';
import type { SentAccountInquiry } from './write-request.ts';

/** Max140Text. */
const NAME_LENGTH_MAX = 140;
const VERIFIED = 'true';

/**
 * What a reply means. It is believed only when it is a report on what was asked: `true` needs a name and the account's
 * number, and a reason beside it contradicts it.
 */
export function accountVerdict(
  { status, body }: BankReply,
  { version, nameElement }: Pick<AcmtSettings, 'version' | 'nameElement'>,
  asked: SentAccountInquiry,
): InquiryOutcome {
  if (status !== 200) return { kind: 'no_verdict', reason: reasonForHttpStatus(status), railCode: null };
  const report = readReport(body, version, asked);
  if (report === null) return { kind: 'no_verdict', reason: 'invalid_response', railCode: null };
  if (!report.verified) return outcomeOf(report.reason);

  const name = readHolderName(report.names[nameElement], NAME_LENGTH_MAX);
  if (name === null || !report.namesAccount || report.reason !== null) {
    return { kind: 'no_verdict', reason: 'invalid_response', railCode: railCodeOf(report.reason) ?? VERIFIED };
  }
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: name }, railCode: VERIFIED };
}
