import type { AcmtVersion } from './settings.ts';
import { namespaceOf } from './settings.ts';
import type { SentAccountInquiry } from './write-request.ts';
import { child, childrenOf, MalformedXml, parseXml, type XmlElement } from './xml.ts';

/** Why an account was not verified: a code of ISO's list, or a word of the scheme's own. */
export interface ReportReason {
  readonly kind: 'Cd' | 'Prtry';
  readonly code: string;
}

/** What a scheme says of the account that was asked about. */
export interface Report {
  readonly verified: boolean;
  readonly reason: ReportReason | null;
  /** Whether the number of the account is repeated. When it is, it is the right one. */
  readonly namesAccount: boolean;
  /** Under `UpdtdPtyAndAcctId`, as they are written; null where they are absent. */
  readonly names: Readonly<Record<'Pty/Nm' | 'Acct/Nm', string | null>>;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/**
 * Reads an identification verification report (acmt.024). Null unless it is one, in the version that is spoken, and speaks
 * of what was asked and of nothing else: the message, the verification, the account, its bank.
 */
export function readReport(body: string, version: AcmtVersion, asked: SentAccountInquiry): Report | null {
  try {
    return reportIn(parseXml(body), version, asked);
  } catch (error) {
    if (error instanceof MalformedXml) return null;
    throw error;
  }
}

function reportIn(root: XmlElement, version: AcmtVersion, asked: SentAccountInquiry): Report | null {
  if (root.name !== 'Document' || root.namespace !== namespaceOf('acmt.024', version)) return null;
  const message = child(root, 'IdVrfctnRpt');
  if (message === null || isBlank(textAt(message, 'Assgnmt', 'MsgId'))) return null;
  const answered = textAt(message, 'OrgnlAssgnmt', 'MsgId');
  if (answered !== null && answered !== asked.messageId) return null;

  const reports = childrenOf(message, 'Rpt').filter((each) => textAt(each, 'OrgnlId') === asked.verificationId);
  const [report, ...others] = reports;
  if (report === undefined || others.length > 0) return null;

  const verified = BOOLEANS.get(textAt(report, 'Vrfctn')?.trim() ?? '');
  const sides = [child(report, 'OrgnlPtyAndAcctId'), child(report, 'UpdtdPtyAndAcctId')];
  const accounts = sides.map((side) => accountOf(side)).filter((account) => account !== null);
  const banks = sides.map((side) => textAt(side, 'Agt', 'FinInstnId', 'BICFI')).filter((bic) => bic !== null);
  const sameAccount = accounts.every((account) => account === asked.accountNumber);
  const sameBank = banks.every((bic) => isOfBank(bic, asked.bankBic));
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

/** In whichever of the two elements: schemes put numbers that are no IBAN into `IBAN`, too. */
function accountOf(side: XmlElement | null): string | null {
  const id = child(child(side, 'Acct'), 'Id');
  const [iban, other] = [textAt(id, 'IBAN'), textAt(id, 'Othr', 'Id')];
  if (iban !== null && other !== null) throw new MalformedXml('two numbers for one account');
  return iban ?? other;
}

/** ISO 9362: the first eight characters are the bank, three more a branch. */
const isOfBank = (bic: string, bankBic: string): boolean =>
  (bic.length === 8 || bic.length === 11) && bic.slice(0, 8) === bankBic.slice(0, 8);

function reasonOf(reason: XmlElement | null): ReportReason | null {
  if (reason === null) return null;
  const [code, word] = [textAt(reason, 'Cd'), textAt(reason, 'Prtry')];
  if ((code === null) === (word === null)) throw new MalformedXml('no reason, or two, where there is one');
  return code === null ? { kind: 'Prtry', code: word ?? '' } : { kind: 'Cd', code };
}
