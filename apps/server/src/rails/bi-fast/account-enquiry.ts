import { readHolderName } from '../holder-name.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import { type HubRequest, institution, type MessageHead } from './message.ts';
import { enquiryMeaning } from './reason-codes.ts';
import type { BiFastSettings } from './settings.ts';
import { railCodeOf, type StatusReport } from './status-report.ts';

/** What is asked, for holding the report against it. */
export interface SentAccountInquiry {
  readonly bic: string;
  readonly accountNumber: string;
}

type EnquirySettings = Pick<BiFastSettings, 'bic' | 'purpose' | 'enquiryAmount' | 'amountMember'>;

/** A credit transfer in form (pacs.008.001.08), which its category purpose, 510 and the purpose, makes a question. */
export function accountEnquiry(
  path: string,
  settings: EnquirySettings,
  { bic, accountNumber }: SentAccountInquiry,
): HubRequest {
  return {
    type: '510',
    definition: 'pacs.008.001.08',
    path,
    document: ({ endToEndId, messageId, createdAt }) => ({
      FIToFICstmrCdtTrf: {
        GrpHdr: { MsgId: messageId, CreDtTm: createdAt, NbOfTxs: '1', SttlmInf: { SttlmMtd: 'CLRG' } },
        CdtTrfTxInf: [
          {
            PmtId: { EndToEndId: endToEndId, TxId: messageId },
            PmtTpInf: { CtgyPurp: { Prtry: `510${settings.purpose}` } },
            IntrBkSttlmAmt: { [settings.amountMember]: settings.enquiryAmount, Ccy: 'IDR' },
            ChrgBr: 'DEBT',
            Dbtr: {},
            DbtrAgt: institution(settings.bic),
            CdtrAgt: institution(bic),
            Cdtr: {},
            CdtrAcct: { Id: { Othr: { Id: accountNumber } } },
          },
        ],
      },
    }),
  };
}

/** ISO 20022, Max140Text. */
const NAME_LENGTH_MAX = 140;

/** What a report on an enquiry means. It is believed only when it names the enquiry and contradicts nothing that was asked. */
export function accountVerdict(report: StatusReport, asked: SentAccountInquiry, sent: MessageHead): InquiryOutcome {
  const railCode = railCodeOf(report);
  const noVerdict = (reason: NoVerdictReason): InquiryOutcome => ({ kind: 'no_verdict', reason, railCode });
  if (!isAbout(report, asked, sent) || report.reason === undefined) return noVerdict('invalid_response');

  const meaning = enquiryMeaning(report.reason);
  const positive = report.status === 'ACTC';
  if (positive !== (meaning === 'accepted') || (!positive && report.status !== 'RJCT'))
    return noVerdict('invalid_response');
  if (meaning === 'NOT_FOUND' || meaning === 'INACTIVE') {
    return { kind: 'verdict', verdict: { status: meaning }, railCode };
  }
  if (meaning !== 'accepted') return noVerdict(meaning);

  const name = readHolderName(report.holder, NAME_LENGTH_MAX);
  // An account that is not named may be another one, and its holder somebody else.
  if (report.accountNumber === undefined || name === null) return noVerdict('invalid_response');
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: name }, railCode };
}

function isAbout(report: StatusReport, asked: SentAccountInquiry, sent: MessageHead): boolean {
  const agrees = (told: string | undefined, expected: string): boolean => told === undefined || told === expected;
  return (
    report.endToEndId === sent.endToEndId &&
    agrees(report.transactionId, sent.messageId) &&
    agrees(report.messageId, sent.messageId) &&
    agrees(report.accountNumber, asked.accountNumber) &&
    agrees(report.bank, asked.bic)
  );
}
