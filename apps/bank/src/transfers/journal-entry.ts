import { TRANSFER_SERVICES, type Transfer } from './transfer.ts';

/** The journal records every accepted transfer, and every advance of the clock (`push`). */
export type JournalEntry =
  | { readonly entry: 'transfer'; readonly transfer: Transfer }
  | { readonly entry: 'push'; readonly advancedSeconds: number };

/** The beginning of every entry's line. */
export const ENTRY_START = '{"entry":"';

/** One line of JSON with its line feed. JSON escapes line feeds in texts, so a line feed always ends an entry. */
export function serializeEntry(entry: JournalEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

/** The entry of a line (without its line feed), or null if the line is not an entry. */
export function parseEntry(line: string): JournalEntry | null {
  const value = parseJson(line);
  if (!isRecord(value)) return null;
  const { entry, transfer, advancedSeconds } = value;
  if (entry === 'transfer' && isTransfer(transfer)) return { entry, transfer };
  if (entry === 'push' && Number.isSafeInteger(advancedSeconds)) {
    return { entry, advancedSeconds: Number(advancedSeconds) };
  }
  return null;
}

function isTransfer(value: unknown): value is Transfer {
  if (!isRecord(value) || !isRecord(value['amount'])) return false;
  const { service, acceptedAtMs, amount } = value;
  const texts = [
    amount['value'],
    amount['currency'],
    value['partnerReferenceNo'],
    value['referenceNo'],
    value['beneficiaryAccountNo'],
    value['beneficiaryBankCode'],
    value['sourceAccountNo'],
    value['transactionDate'],
  ];
  return (
    TRANSFER_SERVICES.some((known) => known === service) &&
    Number.isSafeInteger(acceptedAtMs) &&
    texts.every((text) => typeof text === 'string')
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
