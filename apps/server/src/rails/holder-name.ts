import { isPlainText } from '../domain/identifiers.ts';

/** A holder's name as a bank writes it; null where there is none, or nothing that could be one. `lengthMax` is the protocol's. */
export function readHolderName(text: string | null | undefined, lengthMax: number): string | null {
  const name = text?.trim().normalize('NFC') ?? '';
  return name !== '' && isPlainText(name, lengthMax) ? name : null;
}
