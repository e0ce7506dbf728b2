import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Bank, BankDirectory } from '../domain/bank.ts';

/**
 * Reads what the entries of a rails file refer to: files, keys and banks. A method returns null for a faulty value and
 * notes the fault. `field` names the field in the fault.
 */
export interface ConnectionReader {
  /** `file` is relative to the rails file. */
  text(file: string, field: string): string | null;
  secret(file: string, field: string): string | null;
  /** RSA, PEM, without a passphrase. */
  privateKey(file: string, field: string): KeyObject | null;
  /** The bank, given any of its codes. Null, without a fault, where there is none. */
  find(code: string): Bank | null;
  /** The BIC of a bank, given any of its codes. */
  bic(code: string, field: string): string | null;
  /** https, without user, query or fragment. */
  address(address: string, field: string): void;
  /** Notes a fault of the entry itself, as a sentence. */
  fault(sentence: string): void;
  /** The contents of the files that were read since the last call. */
  takeContents(): readonly string[];
}

/** Faults are appended to `faults`, as sentences that quote no secret. */
export function createConnectionReader(directory: string, banks: BankDirectory, faults: string[]): ConnectionReader {
  let contents: string[] = [];

  function text(file: string, field: string): string | null {
    try {
      const content = readFileSync(path.resolve(directory, file), 'utf8').trim();
      contents.push(content);
      return content;
    } catch (error) {
      faults.push(`${field} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  return {
    text,
    secret(file, field) {
      const secret = text(file, field);
      if (secret === '') faults.push(`${field} is empty`);
      return secret;
    },
    privateKey(file, field) {
      const pem = text(file, field);
      if (pem === null) return null;
      try {
        const key = createPrivateKey(pem);
        if (key.asymmetricKeyType === 'rsa') return key;
      } catch {
        // Reported below without the reason, which may quote the key.
      }
      faults.push(`${field} is not an RSA private key in PEM format`);
      return null;
    },
    find: banks.find,
    bic(code, field) {
      const bank = banks.find(code);
      if (bank === null) faults.push(`${field}: ${code} is not in the bank directory`);
      return bank?.bic ?? null;
    },
    address(address, field) {
      const url = URL.canParse(address) ? new URL(address) : null;
      const isBare = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
      if (url?.protocol !== 'https:' || !isBare) {
        faults.push(`${field} must be an https:// address without user, query or fragment`);
      }
    },
    fault(sentence) {
      faults.push(sentence);
    },
    takeContents() {
      const taken = contents;
      contents = [];
      return taken;
    },
  };
}
