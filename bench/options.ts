import { parseArgs } from 'node:util';

export interface Options {
  /** One short round and a smaller large table: shows that everything works, measures nothing worth keeping. */
  readonly quick: boolean;
  /** Instead of what an answer costs, measures how a change arrives at clients. */
  readonly arrival: boolean;
  /** Instead, measures what a dead rail, slow answers and a dying bank cost, without the rest of the service. */
  readonly rails: boolean;
  /** A missed budget or a failed request ends the run with code 1. */
  readonly enforce: boolean;
  /** Instead of measuring, finds out where the server spends its time. */
  readonly profile: boolean;
  /** Null takes wrk where it is installed, else autocannon. */
  readonly load: LoadName | null;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  readonly smallRows: number;
  readonly largeRows: number;
}

export const LOAD_NAMES = ['wrk', 'autocannon'] as const;
export type LoadName = (typeof LOAD_NAMES)[number];

export const USAGE = `npm run bench -- [options]
  --quick             one round of 2 s and 20 thousand instead of 1 million transactions: to see that it works
  --arrival           how a change arrives at clients, by callback and with Prefer: wait, instead of what an answer costs
  --rails             a dead first rail, hedging of slow answers, and what a dying bank costs the others
  --rounds <number>   how often each variant is measured (5)
  --seconds <number>  how long each time, in whole seconds (4)
  --load <program>    wrk or autocannon (wrk where it is installed)
  --enforce           end with code 1 when a budget is missed or a request failed
  --profile           write CPU profiles of the server to bench/results/ instead of measuring
`;

export class OptionsError extends Error {}

/** @throws OptionsError for anything that is not in USAGE. Null asks for the usage. */
export function readOptions(args: readonly string[]): Options | null {
  const values = parse(args);
  if (values.help) return null;
  const { quick, arrival, rails, enforce, profile } = values;
  return {
    quick,
    arrival,
    rails,
    enforce,
    profile,
    load: loadName(values.load),
    rounds: wholeNumber('rounds', values.rounds) ?? (quick ? 1 : 5),
    roundSeconds: wholeNumber('seconds', values.seconds) ?? (quick ? 2 : 4),
    warmUpSeconds: quick ? 1 : 20,
    smallRows: 10_000,
    largeRows: quick ? 20_000 : 1_000_000,
  };
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  const value = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: flag,
        quick: flag,
        arrival: flag,
        rails: flag,
        enforce: flag,
        profile: flag,
        rounds: value,
        seconds: value,
        load: value,
      },
    }).values;
  } catch (error) {
    throw new OptionsError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function loadName(text: string | undefined): LoadName | null {
  if (text === undefined) return null;
  const name = LOAD_NAMES.find((each) => each === text);
  if (name === undefined) throw new OptionsError(`--load must be ${LOAD_NAMES.join(' or ')}`);
  return name;
}

function wholeNumber(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new OptionsError(`--${name} must be a whole number from 1 to 999`);
  return Number(text);
}
