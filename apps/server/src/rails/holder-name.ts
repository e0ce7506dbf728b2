import { isPlainText } from '../domain/identifiers.ts';

// Nearly every name is printable ASCII: one test settles it.
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/** A holder's name as a bank writes it; null where there is none, or nothing that could be one. `lengthMax` is the protocol's. */
export function readHolderName(text: string | null | undefined, lengthMax: number): string | null {
  if (typeof text === 'string' && text.length <= lengthMax && PLAIN.test(text)) return text;
  const name = text?.trim().normalize('NFC') ?? '';
  return name !== '' && isPlainText(name, lengthMax) ? name : null;
}
