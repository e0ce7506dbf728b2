import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface OfferSettings {
  readonly port: number;
  readonly connections: number;
  /** As sent, each in its turn. */
  readonly requests: readonly string[];
  /** On one connection. */
  readonly inFlightMax: number;
  /** An answer that takes longer is of no use to its client. */
  readonly usefulMs: number;
}

/** Counted since the start. */
export interface OfferReport {
  /** Requests that a rate made due; those for which no connection had room were never sent. */
  readonly offered: number;
  /** Answered with 200 while it was useful. */
  readonly good: number;
  readonly late: number;
  /** Answered with 503. */
  readonly rejected: number;
  /** On connections that closed before the answer. */
  readonly failed: number;
  readonly otherStatuses: Record<number, number>;
}

/** From now on, this many requests a second are due; null: the next one follows each answer. */
export type OfferCommand = 'report' | { readonly perSecond: number | null };

export interface Offer {
  setRate(perSecond: number): void;
  report(): Promise<OfferReport>;
  stop(): Promise<void>;
}

const PROGRAM = new URL('offer-process.ts', import.meta.url);

/** Offers requests from a process of its own; at first each connection sends one when its last one was answered. */
export function startOffer(settings: OfferSettings): Offer {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  child.send(settings);
  return {
    setRate: (perSecond) => void child.send({ perSecond } satisfies OfferCommand),
    async report() {
      const received = once(child, 'message');
      child.send('report' satisfies OfferCommand);
      const [report] = (await received) as [OfferReport];
      return report;
    },
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
