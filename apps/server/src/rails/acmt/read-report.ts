import type { ReportReason } from './codes.ts';
import { type AcmtVersion, namespaceOf } from './settings.ts';
import { child, childrenOf, MalformedXml, parseXml, type XmlElement } from './xml.ts';

/** An inquiry as it is sent. A report must be about it. */
export interface SentAccountInquiry {
  /** `Assgnmt/MsgId`, Max35Text. */
  readonly messageId: string;
  /** `Vrfctn/Id`, Max35Text: the report repeats it as `OrgnlId`. */
  readonly verificationId: string;
  readonly createdAt: Date;
  readonly accountNumber: string;
  /** Of the bank that holds the account. Eight characters. */
  readonly bankBic: string;
}

/** A scheme's report on the account of the inquiry. */
export interface Report {
  readonly verified: boolean;
  readonly reason: ReportReason | null;
  /** Whether the report repeats the account number. It is then the one of the inquiry. */
  readonly namesAccount: boolean;
  /** Under `UpdtdPtyAndAcctId`, unchanged; null where they are absent. */
  readonly names: Readonly<Record<'Pty/Nm' | 'Acct/Nm', string | null>>;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/**
 * Reads an identification verification report (acmt.024). Null unless it is one, in the agreed version, and is about
 * this inquiry only: its message, its verification, its account and its bank.
 */
export function readReport(body: string, version: AcmtVersion, sent: SentAccountInquiry): Report | null {
  try {
    return reportIn(parseXml(body), version, sent);
  } catch (error) {
    if (error instanceof MalformedXml) return null;
    throw error;
  }
}

function reportIn(root: XmlElement, version: AcmtVersion, sent: SentAccountInquiry): Report | null {
  if (root.name !== 'Document' || root.namespace !== namespaceOf('acmt.024', version)) return null;
  const message = child(root, 'IdVrfctnRpt');
  if (message === null || isBlank(textAt(message, 'Assgnmt', 'MsgId'))) return null;
  const originalMessageId = textAt(message, 'OrgnlAssgnmt', 'MsgId');
  if (originalMessageId !== null && originalMessageId !== sent.messageId) return null;

  const reports = childrenOf(message, 'Rpt').filter((each) => textAt(each, 'OrgnlId') === sent.verificationId);
  const [report, ...others] = reports;
  if (report === undefined || others.length > 0) return null;

  const verified = BOOLEANS.get(textAt(report, 'Vrfctn')?.trim() ?? '');
  const sides = [child(report, 'OrgnlPtyAndAcctId'), child(report, 'UpdtdPtyAndAcctId')];
  const accounts = sides.map((side) => accountOf(side)).filter((account) => account !== null);
  const banks = sides.map((side) => textAt(side, 'Agt', 'FinInstnId', 'BICFI')).filter((bic) => bic !== null);
  const sameAccount = accounts.every((account) => account === sent.accountNumber);
  const sameBank = banks.every((bic) => isOfBank(bic, sent.bankBic));
  if (verified === undefined || !sameAccount || !sameBank) return null;

  const updated = child(report, 'UpdtdPtyAndAcctId');
  return {
    verified,
    reason: reasonOf(child(report, 'Rsn')),
    namesAccount: accounts.length > 0,
    names: { 'Pty/Nm': textAt(updated, 'Pty', 'Nm'), 'Acct/Nm': textAt(updated, 'Acct', 'Nm') },
  };
}

const textAt = (from: XmlElement | null, ...path: readonly string[]): string | null =>
  path.reduce(child, from)?.text ?? null;

const isBlank = (text: string | null): boolean => text === null || text.trim() === '';

/** In either element: schemes put numbers that are no IBAN into `IBAN` too. */
function accountOf(side: XmlElement | null): string | null {
  const id = child(child(side, 'Acct'), 'Id');
  const [iban, other] = [textAt(id, 'IBAN'), textAt(id, 'Othr', 'Id')];
  if (iban !== null && other !== null) throw new MalformedXml('two numbers for one account');
  return iban ?? other;
}

/** ISO 9362: the first eight characters identify the bank, three more a branch. */
const isOfBank = (bic: string, bankBic: string): boolean =>
  (bic.length === 8 || bic.length === 11) && bic.slice(0, 8) === bankBic.slice(0, 8);

function reasonOf(reason: XmlElement | null): ReportReason | null {
  if (reason === null) return null;
  const [code, proprietary] = [textAt(reason, 'Cd'), textAt(reason, 'Prtry')];
  if ((code === null) === (proprietary === null)) throw new MalformedXml('Rsn must have either Cd or Prtry');
  return code === null ? { kind: 'Prtry', code: proprietary ?? '' } : { kind: 'Cd', code };
}
