import type { RailSnapshot } from './resilience/guards.ts';

/**
 * - `UP`: every rail to the bank has a closed circuit breaker.
 * - `DEGRADED`: the breaker of some rails is open, or one is half open, or the bank asked for fewer inquiries, or it
 *   answers other processes.
 * - `DOWN`: the breaker of every rail to the bank is open because of failures, and it answers no other process.
 */
export const BANK_STATUSES = ['UP', 'DEGRADED', 'DOWN'] as const;
export type BankStatus = (typeof BANK_STATUSES)[number];

/** A bank's health for account inquiries, as this process has observed it. */
export interface BankHealth {
  readonly status: BankStatus;
  /** ISO 8601 UTC; null when the status has not changed since the start. */
  readonly since: string | null;
  /** It fails here over some rail, and answers another process over it. */
  readonly answersOthers: boolean;
  /** The age of its last verdict over a rail whose circuit breaker is closed; null when there is none. */
  readonly lastVerdictAgoMs: number | null;
  /** Latencies of recent inquiries over the first rail in order of choice that has any; null when none has. */
  readonly inquiries: { readonly p50Ms: number; readonly p95Ms: number } | null;
}

/** The health of a bank that was not inquired since the start. */
export const HEALTHY: BankHealth = {
  status: 'UP',
  since: null,
  answersOthers: false,
  lastVerdictAgoMs: null,
  inquiries: null,
};

type RailHealth = RailSnapshot['banks'][number]['health'];

/** By BIC, of the banks that were inquired since the start. `rails` are in the order of choice. */
export function bankHealths(rails: readonly RailSnapshot[]): Map<string, BankHealth> {
  const byBank = new Map<string, RailHealth[]>();
  for (const { bank, health } of rails.flatMap(({ banks }) => banks)) {
    byBank.set(bank.bic, [...(byBank.get(bank.bic) ?? []), health]);
  }
  return new Map([...byBank].map(([bic, healths]) => [bic, healthOf(healths)]));
}

function healthOf(healths: readonly RailHealth[]): BankHealth {
  const notClosed = healths.filter(({ state }) => state !== 'closed');
  const failing = healths.filter(
    ({ state, isThrottled, answersOthers }) => state === 'open' && !isThrottled && !answersOthers,
  );
  let status: BankStatus = 'UP';
  if (notClosed.length > 0) status = failing.length === healths.length ? 'DOWN' : 'DEGRADED';
  // A bank is down since the last of its rails failed. It is up again since the last of them recovered.
  const changes = (notClosed.length > 0 ? notClosed : healths).flatMap(({ since }) => (since === null ? [] : [since]));
  const verdictAges = healths.flatMap(({ state, lastVerdictAgoMs }) =>
    state === 'closed' ? (lastVerdictAgoMs ?? []) : [],
  );
  return {
    status,
    since: changes.toSorted().at(-1) ?? null,
    answersOthers: healths.some(({ answersOthers }) => answersOthers),
    lastVerdictAgoMs: verdictAges.length === 0 ? null : Math.min(...verdictAges),
    inquiries: latenciesOf(healths),
  };
}

function latenciesOf(healths: readonly RailHealth[]): BankHealth['inquiries'] {
  for (const { p50Ms, p95Ms } of healths) {
    if (p50Ms !== null && p95Ms !== null) return { p50Ms, p95Ms };
  }
  return null;
}
