import type { Draws } from './draws.ts';

/** What can go wrong. Those with a duration end by themselves. */
export type Fault = PostgresFault | ValkeyFault | OtherFault;

/** Nothing in a round without Valkey. After a kill it comes back empty. */
export interface ValkeyFault {
  readonly kind: 'freeze valkey' | 'kill valkey';
  readonly durationMs: number;
}

export type PostgresFault =
  | { readonly kind: 'kill postgres' }
  | { readonly kind: 'kill postgres backend' }
  | { readonly kind: 'freeze postgres'; readonly durationMs: number }
  | { readonly kind: 'cut postgres connections' };

export type OtherFault =
  /** Without `duringStart` only a process that is up is killed: others would never get up on a slow machine. */
  | { readonly kind: 'kill service'; readonly process: number; readonly duringStart: boolean }
  | { readonly kind: 'stop service'; readonly process: number }
  | { readonly kind: 'unread log'; readonly process: number; readonly durationMs: number }
  | { readonly kind: 'freeze bank'; readonly durationMs: number }
  | { readonly kind: 'faulty bank'; readonly mode: BankMode; readonly durationMs: number }
  | { readonly kind: 'faulty receiver'; readonly mode: ReceiverMode; readonly durationMs: number };

/** How the path to the bank behaves: `another account` answers with the verdict on the account before. */
const BANK_MODES = ['slow', 'html', 'another account', 'cut', 'closed', 'server errors'] as const;
export type BankMode = (typeof BANK_MODES)[number];

const RECEIVER_MODES = ['hangs', 'garbage', 'server errors', 'cut'] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

export interface PlannedFault {
  /** From the start of the load. */
  readonly atMs: number;
  readonly fault: Fault;
}

export const isPostgresFault = (fault: Fault): fault is PostgresFault => fault.kind.includes('postgres');

export const isValkeyFault = (fault: Fault): fault is ValkeyFault => fault.kind.includes('valkey');

const FIRST_MS = 700;
const PAUSE_MS_MIN = 400;
const PAUSE_MS_MAX = 2_200;
/** After the last fault, the load goes on for this long. */
const QUIET_MS = 500;

const WEIGHTS: Readonly<Record<Fault['kind'], number>> = {
  'kill service': 12,
  'kill postgres': 1,
  'kill postgres backend': 2,
  'stop service': 2,
  'unread log': 1,
  'freeze postgres': 1,
  'cut postgres connections': 2,
  'freeze bank': 1,
  'freeze valkey': 1,
  'kill valkey': 1,
  'faulty bank': 4,
  'faulty receiver': 3,
};
const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) =>
  Array.from({ length: weight }, () => kind as Fault['kind']),
);

/** Draws what goes wrong, and when. A shorter round has the same faults until it ends. */
export function planFaults(draws: Draws, loadMs: number, processes: number): PlannedFault[] {
  const planned: PlannedFault[] = [];
  for (let atMs = FIRST_MS; ; atMs += draws.between(PAUSE_MS_MIN, PAUSE_MS_MAX)) {
    const fault = drawFault(draws, processes);
    if (atMs > loadMs - QUIET_MS) return planned;
    planned.push({ atMs, fault });
  }
}

function drawFault(draws: Draws, processes: number): Fault {
  const kind = draws.pick(KINDS);
  const process = draws.below(processes);
  const durationMs = draws.between(300, 4_000);
  switch (kind) {
    case 'kill service':
      return { kind, process, duringStart: draws.chance(0.15) };
    case 'stop service':
      return { kind, process };
    case 'unread log':
      return { kind, process, durationMs };
    case 'freeze postgres':
    case 'freeze bank':
    case 'freeze valkey':
    case 'kill valkey':
      return { kind, durationMs };
    case 'faulty bank':
      return { kind, mode: draws.pick(BANK_MODES), durationMs };
    case 'faulty receiver':
      return { kind, mode: draws.pick(RECEIVER_MODES), durationMs };
    case 'kill postgres':
    case 'kill postgres backend':
    case 'cut postgres connections':
      return { kind };
  }
}
