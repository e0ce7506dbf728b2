import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { median, pairedRatio, type Ratio } from '../ratios.ts';
import { load, quantile } from './load.ts';
import { type Answer, ordinaryMs, startTimedBank } from './timed-bank.ts';

/** One switch leads to all of them. The first is the one that dies. */
const BICS = ['CENAIDJA', 'BRINIDJA', 'BMRIIDJA', 'BNINIDJA', 'BNIAIDJA'] as const;
const BUDGET = { bound: 'at most', value: 1.05 } as const;
const MEBIBYTE = 1024 * 1024;

const DEATHS = ['is silent', 'drips a byte a second', 'sends a gzip of 200 MiB'] as const;

interface Round {
  readonly p99Ms: number;
  readonly without: number;
}

export interface OneBankDies {
  readonly p99Ms: number;
  /** Questions to the other banks that came to no verdict. */
  readonly without: number;
  readonly ratios: readonly Ratio[];
}

/** What one bank's death costs the clients of the others: their p99 while it dies, over that while it is well, in turns. */
export async function measureOneDeath(seconds: number, rounds: number): Promise<OneBankDies> {
  const bomb = gzipSync(Buffer.alloc(200 * MEBIBYTE, ' '), { level: 1 });
  const deaths: readonly Answer[] = [
    () => {},
    drip,
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  ];
  const well: Round[] = [];
  const dying: Round[][] = DEATHS.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    well.push(await measure(seconds, null));
    for (const [index, death] of deaths.entries()) dying[index]?.push(await measure(seconds, death));
  }
  return {
    p99Ms: median(well.map(({ p99Ms }) => p99Ms)),
    without: [well, ...dying].flat().reduce((sum, { without }) => sum + without, 0),
    ratios: DEATHS.map((death, index) => ({
      title: `the other banks' p99, while one bank ${death} / is well`,
      value: pairedRatio(dying[index] ?? [], well, 'p99Ms'),
      budget: BUDGET,
    })),
  };
}

/** null for a bank that is well. */
async function measure(seconds: number, death: Answer | null): Promise<Round> {
  const bank = await startTimedBank('switch', ordinaryMs, (bic) => (bic === BICS[0] ? death : null));
  try {
    const took = await load({ rails: [bank.rail], seconds, bics: BICS });
    if (death !== null && took.some(({ bic, isVerdict }) => bic === BICS[0] && isVerdict)) {
      throw new Error('the bank that was to die has answered');
    }
    const others = took.filter(({ bic }) => bic !== BICS[0]);
    const p99Ms = quantile(
      others.map(({ ms }) => ms),
      0.99,
    );
    return { p99Ms, without: others.filter(({ isVerdict }) => !isVerdict).length };
  } finally {
    await bank.close();
  }
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 1_000 });
  const timer = setInterval(() => response.write(' '), 1_000);
  response.once('close', () => clearInterval(timer));
}
