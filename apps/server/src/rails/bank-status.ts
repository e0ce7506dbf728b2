import type { RailSnapshot } from './resilience/guards.ts';

/** `DOWN`: no rail to the bank answers. `DEGRADED`: some do not, one is only being tried again, or wants fewer questions. */
export const BANK_STATUSES = ['UP', 'DEGRADED', 'DOWN'] as const;
export type BankStatus = (typeof BANK_STATUSES)[number];

/** How a bank is about accounts, as this process has found it. */
export interface BankHealth {
  readonly status: BankStatus;
  /** ISO 8601 UTC; null when it has been so since the start. */
  readonly since: string | null;
  /** How long ago it gave its last verdict, over a rail that is not given a rest; null when there is none. */
  readonly lastVerdictAgoMs: number | null;
  /** Of recent inquiries over the first choice that has answered; null when none has. */
  readonly inquiries: { readonly p50Ms: number; readonly p95Ms: number } | null;
}

export const HEALTHY: BankHealth = { status: 'UP', since: null, lastVerdictAgoMs: null, inquiries: null };

type Health = RailSnapshot['banks'][number]['health'];

/** By BIC, of the banks that were asked since the start. `rails` are in the order of choice. */
export function bankHealths(rails: readonly RailSnapshot[]): Map<string, BankHealth> {
  const byBank = new Map<string, Health[]>();
  for (const { bank, health } of rails.flatMap(({ banks }) => banks)) {
    byBank.set(bank.bic, [...(byBank.get(bank.bic) ?? []), health]);
  }
  return new Map([...byBank].map(([bic, healths]) => [bic, healthOf(healths)]));
}

function healthOf(healths: readonly Health[]): BankHealth {
  const troubled = healths.filter(({ state }) => state !== 'closed');
  const failing = healths.filter(({ state, isThrottled }) => state === 'open' && !isThrottled);
  let status: BankStatus = 'UP';
  if (troubled.length > 0) status = failing.length === healths.length ? 'DOWN' : 'DEGRADED';
  // A bank is down since the last of its rails went; it is well again since the last came back.
  const changes = (troubled.length > 0 ? troubled : healths).flatMap(({ since }) => (since === null ? [] : [since]));
  const answered = healths.flatMap(({ state, lastVerdictAgoMs }) =>
    state === 'closed' ? (lastVerdictAgoMs ?? []) : [],
  );
  return {
    status,
    since: changes.toSorted().at(-1) ?? null,
    lastVerdictAgoMs: answered.length === 0 ? null : Math.min(...answered),
    inquiries: latenciesOf(healths),
  };
}

function latenciesOf(healths: readonly Health[]): BankHealth['inquiries'] {
  for (const { p50Ms, p95Ms } of healths) {
    if (p50Ms !== null && p95Ms !== null) return { p50Ms, p95Ms };
  }
  return null;
}
