import { createSecretKey, type KeyObject } from 'node:crypto';
import { createReferenceNumbers } from './reference-numbers.ts';
import type { BankSettings } from './settings.ts';
import { createExternalIds, type ExternalIds } from './snap/external-ids.ts';
import { createTokens, type Tokens } from './snap/tokens.ts';

/** Everything that one running bank knows and remembers. */
export interface Bank {
  readonly settings: BankSettings;
  readonly clientSecretKey: KeyObject;
  readonly tokens: Tokens;
  readonly externalIds: ExternalIds;
  /** A `referenceNo` that no other answer of this bank carries. */
  readonly nextReferenceNo: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createBank(settings: BankSettings, now: () => number): Bank {
  return {
    settings,
    clientSecretKey: createSecretKey(settings.clientSecret, 'utf8'),
    tokens: createTokens(settings.tokenLifetimeSeconds * 1000),
    externalIds: createExternalIds(),
    nextReferenceNo: createReferenceNumbers(),
    now,
  };
}
