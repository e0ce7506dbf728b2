import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { BankDirectory } from '../domain/bank.ts';

/** Reads what the entries of a rails file only name. Null for what is not good; the fault is then noted. */
export interface ConnectionReader {
  /** `file` is relative to the rails file. */
  text(file: string, what: string): string | null;
  secret(file: string, what: string): string | null;
  /** RSA, PEM, without a passphrase. */
  privateKey(file: string, what: string): KeyObject | null;
  bic(code: string, what: string): string | null;
  /** https, without user, query or fragment. */
  address(address: string, what: string): void;
  /** Notes what is wrong with the entry itself, as a sentence. */
  fault(sentence: string): void;
}

/** `faults` takes what is wrong, in sentences that quote no secret. */
export function createConnectionReader(directory: string, banks: BankDirectory, faults: string[]): ConnectionReader {
  function text(file: string, what: string): string | null {
    try {
      return readFileSync(path.resolve(directory, file), 'utf8').trim();
    } catch (error) {
      faults.push(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  return {
    text,
    secret(file, what) {
      const secret = text(file, what);
      if (secret === '') faults.push(`${what} is empty`);
      return secret;
    },
    privateKey(file, what) {
      const pem = text(file, what);
      if (pem === null) return null;
      try {
        const key = createPrivateKey(pem);
        if (key.asymmetricKeyType === 'rsa') return key;
      } catch {
        // Said below, without the reason: it may quote the key.
      }
      faults.push(`${what} is not an RSA private key in PEM format`);
      return null;
    },
    bic(code, what) {
      const bank = banks.find(code);
      if (bank === null) faults.push(`${what}: ${code} is not in the bank directory`);
      return bank?.bic ?? null;
    },
    address(address, what) {
      const url = URL.canParse(address) ? new URL(address) : null;
      const bare = url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
      if (url?.protocol !== 'https:' || !bare) {
        faults.push(`${what} must be an https:// address without user, query or fragment`);
      }
    },
    fault(sentence) {
      faults.push(sentence);
    },
  };
}
