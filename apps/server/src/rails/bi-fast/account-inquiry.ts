import { AccountNumber, isAccountStatus } from '../../domain/account.ts';
import type { Alias } from '../aliases.ts';
import { readHolderName } from '../bank-reply.ts';
import type { InquiryOutcome, NoVerdictReason } from '../rail.ts';
import { aliasMeaning, enquiryMeaning } from './codes.ts';
import { HUB, type HubRequest, institution, type MessageHead } from './message.ts';
import type { BiFastSettings } from './settings.ts';
import { railCodeOf, type StatusReport } from './status-report.ts';

/** The fields of an inquiry. A report must not contradict them. */
export type SentAccountInquiry =
  | { readonly bic: string; readonly accountNumber: string }
  /** `held` is the alias as an account number holds it. The hub knows the account and its bank. */
  | { readonly alias: Alias; readonly held: string };

type EnquirySettings = Pick<BiFastSettings, 'bic' | 'purpose' | 'enquiryAmount' | 'amountMember'>;

/**
 * BI-FAST's account enquiry: a credit transfer in form (pacs.008.001.08), which its category purpose, 510 and the
 * purpose, makes an enquiry. With an alias, the hub stands for the bank that is not known.
 */
export function accountEnquiry(path: string, settings: EnquirySettings, sent: SentAccountInquiry): HubRequest {
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
            CdtrAgt: institution('alias' in sent ? HUB : sent.bic),
            Cdtr: {},
            CdtrAcct: creditorAccount(sent),
          },
        ],
      },
    }),
  };
}

/** The version of this message has a mandatory account. Where it is not known, markets fill in this text. */
const NOT_PROVIDED = 'NOTPROVIDED';

function creditorAccount(sent: SentAccountInquiry): object {
  if (!('alias' in sent)) return { Id: { Othr: { Id: sent.accountNumber } } };
  const { type, value } = sent.alias;
  return { Id: { Othr: { Id: NOT_PROVIDED } }, Prxy: { Tp: { Prtry: type }, Id: value } };
}

/** ISO 20022, Max140Text. */
const NAME_LENGTH_MAX = 140;

/**
 * The outcome of a report on an enquiry. It is believed only when it names the enquiry and contradicts none of its
 * fields.
 */
export function accountVerdict(report: StatusReport, sent: SentAccountInquiry, head: MessageHead): InquiryOutcome {
  const railCode = railCodeOf(report);
  const noVerdict = (reason: NoVerdictReason): InquiryOutcome => ({ kind: 'no_verdict', reason, railCode });
  if (!isAbout(report, sent, head) || report.reason === undefined) return noVerdict('invalid_response');

  const meaning = 'alias' in sent ? aliasMeaning(report.reason) : enquiryMeaning(report.reason);
  const isPositive = report.status === 'ACTC';
  if (isPositive !== (meaning === 'accepted') || (!isPositive && report.status !== 'RJCT'))
    return noVerdict('invalid_response');
  if (meaning !== 'accepted') {
    return isAccountStatus(meaning) ? { kind: 'verdict', verdict: { status: meaning }, railCode } : noVerdict(meaning);
  }

  const name = readHolderName(report.holder, NAME_LENGTH_MAX);
  // Without its number, the account may be another one, with another holder.
  if (report.accountNumber === undefined || name === null) return noVerdict('invalid_response');
  return { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: name }, railCode };
}

function isAbout(report: StatusReport, sent: SentAccountInquiry, head: MessageHead): boolean {
  const agrees = (reported: string | undefined, expected: string): boolean =>
    reported === undefined || reported === expected;
  return (
    report.endToEndId === head.endToEndId &&
    agrees(report.transactionId, head.messageId) &&
    agrees(report.messageId, head.messageId) &&
    ('alias' in sent
      ? // The account and the bank are those behind the alias, which are not known here.
        report.alias === undefined || AccountNumber.parseAlias(report.alias)?.reveal() === sent.held
      : agrees(report.accountNumber, sent.accountNumber) && agrees(report.bank, sent.bic))
  );
}
