import type { Bank } from '../../domain/bank.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Rail } from '../rail.ts';
import { type Routes, railsTo } from '../routes.ts';
import type { BreakerListener, BreakerOpening, BreakerState } from './circuit-breaker.ts';
import { createGuardedRail, type GuardedRail, type GuardedRailSnapshot } from './guarded-rail.ts';
import { type BankCount, createBankCounts } from './inquiry-counts.ts';
import { type ConnectionGuard, createConnectionGuard, NOT_SHARED, type Sharing } from './limits.ts';
import type { DayCount } from './quota.ts';
import { type BankLimits, NO_BANK_LIMITS, PROTECTION, type Protection } from './settings.ts';
import type { Finding } from './shared-findings.ts';

/** The rails to one bank. */
export interface Route {
  /** First choice first. */
  readonly rails: readonly GuardedRail[];
  readonly hedge: boolean;
}

/** What is set for the rails, and changes with them. */
export interface RailOptions {
  readonly routes?: Routes;
  /** By the rail's name. */
  readonly limitsByRail?: ReadonlyMap<string, BankLimits>;
  /** Counts the inquiries of a day over a rail with this name; by default those of this process. */
  readonly dayCountOf?: (rail: string) => DayCount;
}

export interface GuardOptions extends RailOptions {
  readonly protection?: Protection;
  /** How limits are divided among processes; by default there is only this one. */
  readonly sharing?: Sharing;
  /** Milliseconds since 1970. */
  readonly wallClock?: () => number;
  readonly onBreakerChange?: (change: BreakerChange) => void;
  readonly onClientSuspended?: (suspension: ClientSuspension) => void;
}

export interface BreakerChange {
  readonly rail: string;
  readonly bank: string;
  readonly state: BreakerState;
  /** Null unless the state is `open`. */
  readonly opening: BreakerOpening | null;
}

/** A client whose inquiries to this bank are not sent, because the bank fails over the accounts that it chooses. */
export interface ClientSuspension {
  readonly rail: string;
  readonly bank: string;
  readonly clientId: string;
  readonly suspendedMs: number;
}

/** The state of one rail, for the operator. */
export interface RailSnapshot {
  readonly name: string;
  readonly distinguishesClosed: boolean;
  /** Of all its banks together. */
  readonly inFlight: number;
  /** Null where the contract has no such limit. */
  readonly concurrencyMax: number | null;
  readonly quotaLeft: { readonly second: number | null; readonly day: number | null };
  /** The banks that were inquired since the start. */
  readonly banks: readonly { readonly bank: Bank; readonly health: GuardedRailSnapshot }[];
}

/** What one process has found about a bank over a rail. */
export interface BankFinding extends Finding {
  readonly rail: string;
  readonly bank: Bank;
}

export interface Guards {
  /**
   * Uses these rails and options from now on. A rail that stays keeps its circuit breakers and its counts. One with the
   * name of a former rail takes over what the bank counts: its quota, and its inquiries in flight.
   */
  replaceRails(rails: readonly Rail[], options: RailOptions): void;
  reaches(bank: Bank): boolean;
  routeTo(bank: Bank): Route;
  snapshot(nowMs: number): readonly RailSnapshot[];
  /** What this process has found and others need to know. */
  findings(nowMs: number): readonly BankFinding[];
  /** Takes all that the other processes have found. Call it again while there is something. */
  learn(others: readonly BankFinding[], nowMs: number): void;
  /** How inquiries ended since the last call. */
  takeCounts(): readonly BankCount[];
}

/** The values of the metric `tiba_breaker_state`. */
const STATE_NUMBERS: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };
const NO_ROUTES: Routes = new Map();
const NO_QUOTA = { second: null, day: null } as const;

interface GuardedBank {
  readonly bank: Bank;
  readonly connection: ConnectionGuard;
  readonly guarded: GuardedRail;
}

/** One guarded rail for each bank and rail, created with the first inquiry to the bank. */
export function createGuards(
  initialRails: readonly Rail[],
  metrics: Pick<Metrics, 'breakerState'>,
  options: GuardOptions,
): Guards {
  const { protection = PROTECTION, wallClock = Date.now, onBreakerChange, onClientSuspended } = options;
  let rails = initialRails;
  let routes = options.routes ?? NO_ROUTES;
  let connections = connectionGuards(rails, options, options, []);
  let guardedBanks: GuardedBank[] = [];
  const routesByBic = new Map<string, Route>();
  const counts = createBankCounts();

  function guard(connection: ConnectionGuard, bank: Bank): GuardedRail {
    const known = guardedBanks.find((each) => each.connection === connection && each.bank === bank);
    if (known !== undefined) return known.guarded;
    const names = { rail: connection.rail.name, bank: bank.bic };
    const listener: BreakerListener = {
      onState(state, opening) {
        // An inquiry that was in flight when its rail was replaced says nothing about the rail of the same name.
        if (!isUsed(connection)) return;
        metrics.breakerState.set(names, STATE_NUMBERS[state]);
        onBreakerChange?.({ ...names, state, opening });
      },
      onSuspended: (clientId, suspendedMs) => onClientSuspended?.({ ...names, clientId, suspendedMs }),
    };
    const dependencies = { connection, protection, wallMs: wallClock, listener, counts: counts.of(bank) };
    const guarded = createGuardedRail(dependencies);
    guardedBanks.push({ bank, connection, guarded });
    return guarded;
  }

  const isUsed = (connection: ConnectionGuard): boolean => connections.get(connection.rail) === connection;

  function routeTo(bank: Bank): Route {
    let route = routesByBic.get(bank.bic);
    if (route === undefined) {
      route = {
        rails: railsTo(bank, rails, routes).map((rail) => guard(connections.get(rail) as ConnectionGuard, bank)),
        hedge: routes.get(bank.bic)?.hedge ?? false,
      };
      routesByBic.set(bank.bic, route);
    }
    return route;
  }

  return {
    replaceRails(newRails, newOptions) {
      rails = newRails;
      routes = newOptions.routes ?? NO_ROUTES;
      connections = connectionGuards(rails, newOptions, options, [...connections.values()]);
      routesByBic.clear();
      for (const { bank, connection } of guardedBanks)
        if (!isUsed(connection)) metrics.breakerState.remove({ rail: connection.rail.name, bank: bank.bic });
      guardedBanks = guardedBanks.filter(({ connection }) => isUsed(connection));
    },
    reaches: (bank) => railsTo(bank, rails, routes).length > 0,
    routeTo,
    snapshot: (nowMs) => [...connections.values()].map((connection) => railSnapshot(connection, guardedBanks, nowMs)),
    findings: (nowMs) => guardedBanks.flatMap((each) => findingOf(each, nowMs)),
    learn(others, nowMs) {
      // A bank that this process has not inquired yet may fail too.
      for (const { bank } of others) routeTo(bank);
      for (const each of guardedBanks) learn(each, others, nowMs);
    },
    takeCounts: counts.take,
  };
}

/** `former`: the guards of the rails that these replace. */
function connectionGuards(
  rails: readonly Rail[],
  { limitsByRail, dayCountOf }: RailOptions,
  { sharing = NOT_SHARED, wallClock = Date.now }: GuardOptions,
  former: readonly ConnectionGuard[],
): ReadonlyMap<Rail, ConnectionGuard> {
  return new Map(
    rails.map((rail) => {
      const replaced = former.find((each) => each.rail.name === rail.name);
      if (replaced?.rail === rail) return [rail, replaced];
      const limits = limitsByRail?.get(rail.name) ?? NO_BANK_LIMITS;
      const guardOptions = { wallMs: wallClock, dayCount: dayCountOf?.(rail.name), replaced };
      return [rail, createConnectionGuard(rail, limits, guardOptions, sharing)];
    }),
  );
}

function findingOf({ bank, connection, guarded }: GuardedBank, nowMs: number): BankFinding[] {
  const finding = guarded.finding(nowMs);
  return finding === null ? [] : [{ ...finding, rail: connection.rail.name, bank }];
}

function learn({ bank, connection, guarded }: GuardedBank, others: readonly BankFinding[], nowMs: number): void {
  const isAbout = (each: BankFinding): boolean => each.rail === connection.rail.name && each.bank.bic === bank.bic;
  guarded.learn(others.filter(isAbout), nowMs);
}

function railSnapshot(connection: ConnectionGuard, guardedBanks: readonly GuardedBank[], nowMs: number): RailSnapshot {
  const banks = guardedBanks
    .filter((each) => each.connection === connection)
    .map(({ bank, guarded }) => ({ bank, health: guarded.snapshot(nowMs) }));
  return {
    name: connection.rail.name,
    distinguishesClosed: connection.rail.distinguishesClosed === true,
    inFlight: banks.reduce((sum, { health }) => sum + health.inFlight, 0),
    concurrencyMax: connection.bulkhead?.max() ?? null,
    quotaLeft: connection.quota?.left(nowMs) ?? NO_QUOTA,
    banks,
  };
}
