import { randomBytes } from 'node:crypto';

export interface Tokens {
  issue(nowMs: number): string;
  isValid(token: string, nowMs: number): boolean;
}

// A partner needs one token at a time. The limit keeps a partner that requests tokens in a loop from exhausting memory.
const TOKENS_MAX = 10_000;

/** Access tokens: opaque, random, all with the same lifetime. */
export function createTokens(lifetimeMs: number, tokensMax = TOKENS_MAX): Tokens {
  // Insertion order is expiry order: the tokens to delete come first.
  const expiries = new Map<string, number>();

  function deleteExpired(nowMs: number): void {
    for (const [token, expiresAtMs] of expiries) {
      if (expiresAtMs > nowMs && expiries.size < tokensMax) return;
      expiries.delete(token);
    }
  }

  return {
    issue(nowMs) {
      deleteExpired(nowMs);
      const token = randomBytes(32).toString('base64url');
      expiries.set(token, nowMs + lifetimeMs);
      return token;
    },
    isValid(token, nowMs) {
      return (expiries.get(token) ?? 0) > nowMs;
    },
  };
}
