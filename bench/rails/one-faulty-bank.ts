import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { median, pairedRatio, type Ratio } from '../ratios.ts';
import { load, quantile } from './load.ts';
import { healthyDelayMs, type Respond, startTimedBank } from './timed-bank.ts';

/** All of them are behind one switch. The first is the faulty one. */
const BICS = ['CENAIDJA', 'BRINIDJA', 'BMRIIDJA', 'BNINIDJA', 'BNIAIDJA'] as const;
const BUDGET = { bound: 'at most', value: 1.05 } as const;
const MEBIBYTE = 1024 * 1024;

const FAULTS = ['is silent', 'drips a byte per second', 'sends a gzip of 200 MiB'] as const;

interface Round {
  readonly p99Ms: number;
  readonly noVerdicts: number;
}

export interface FaultyBankResult {
  readonly p99Ms: number;
  /** Inquiries to the other banks that ended without a verdict. */
  readonly noVerdicts: number;
  readonly ratios: readonly Ratio[];
}

/**
 * Measures what one faulty bank costs the clients of the other banks: their p99 while it is faulty, relative to that
 * while it is healthy, in turn.
 */
export async function measureFaultyBank(seconds: number, rounds: number): Promise<FaultyBankResult> {
  const gzipBomb = gzipSync(Buffer.alloc(200 * MEBIBYTE, ' '), { level: 1 });
  const faults: readonly Respond[] = [
    () => {},
    drip,
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipBomb),
  ];
  const healthy: Round[] = [];
  const faulty: Round[][] = FAULTS.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    healthy.push(await measure(seconds, null));
    for (const [index, fault] of faults.entries()) faulty[index]?.push(await measure(seconds, fault));
  }
  return {
    p99Ms: median(healthy.map(({ p99Ms }) => p99Ms)),
    noVerdicts: [healthy, ...faulty].flat().reduce((sum, { noVerdicts }) => sum + noVerdicts, 0),
    ratios: FAULTS.map((fault, index) => ({
      title: `the other banks' p99, while one bank ${fault} / is healthy`,
      value: pairedRatio(faulty[index] ?? [], healthy, 'p99Ms'),
      budget: BUDGET,
    })),
  };
}

/** `fault` is null for a healthy bank. */
async function measure(seconds: number, fault: Respond | null): Promise<Round> {
  const bank = await startTimedBank('switch', healthyDelayMs, (bic) => (bic === BICS[0] ? fault : null));
  try {
    const inquiries = await load({ rails: [bank.rail], seconds, bics: BICS });
    if (fault !== null && inquiries.some(({ bic, isVerdict }) => bic === BICS[0] && isVerdict)) {
      throw new Error('the faulty bank gave a verdict');
    }
    const others = inquiries.filter(({ bic }) => bic !== BICS[0]);
    const p99Ms = quantile(
      others.map(({ ms }) => ms),
      0.99,
    );
    return { p99Ms, noVerdicts: others.filter(({ isVerdict }) => !isVerdict).length };
  } finally {
    await bank.close();
  }
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 1_000 });
  const timer = setInterval(() => response.write(' '), 1_000);
  response.once('close', () => clearInterval(timer));
}
