import { randomBytes } from 'node:crypto';

export interface Tokens {
  issue(nowMs: number): string;
  isValid(token: string, nowMs: number): boolean;
}

// A partner needs one at a time; the ceiling keeps a partner that asks without end from filling the memory.
const TOKENS_MAX = 10_000;

/** Access tokens: opaque, random, each alive for the same time. */
export function createTokens(lifetimeMs: number, tokensMax = TOKENS_MAX): Tokens {
  // The order of insertion is the order of expiry: what has to be forgotten stands in front.
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
