import { TRANSFER_SERVICES, type Transfer } from './transfer.ts';

/** What the journal keeps: every transfer that was accepted, and every push of the clock. */
export type JournalEntry =
  | { readonly entry: 'transfer'; readonly transfer: Transfer }
  | { readonly entry: 'push'; readonly advancedSeconds: number };

/** How the line of every entry begins. */
export const ENTRY_START = '{"entry":"';

/** One line of JSON with its end. JSON escapes line ends inside texts, so that a line end always ends an entry. */
export function serializeEntry(entry: JournalEntry): string {
  return `${JSON.stringify(entry)}\n`;
}

/** The entry of a line without its end, or null when it is none. */
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
