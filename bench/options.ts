import { parseArgs } from 'node:util';

export interface Options {
  /** One short round, and a smaller large table: shows that the benchmark works; its figures mean nothing. */
  readonly quick: boolean;
  /** Measures how soon a change reaches clients, instead of what a request costs. */
  readonly endToEnd: boolean;
  /** Measures what a failed rail, slow responses and a faulty bank cost, without the rest of the service. */
  readonly rails: boolean;
  /** Measures what a page of a list costs among few and among many transactions. */
  readonly list: boolean;
  /** Measures each kind of search of the operator. */
  readonly search: boolean;
  /** Compares all that may depend on how many transactions are stored, among few and among millions. */
  readonly scale: boolean;
  /** Measures what transactions take on the disk. */
  readonly bytes: boolean;
  /** Measures what a line of the feed costs. */
  readonly feed: boolean;
  /** The folder of another clone, whose feed takes turns with this one's; null for none. */
  readonly against: string | null;
  /** Measures what limits over several processes cost. */
  readonly sharedLimits: boolean;
  /** Measures what traces cost. */
  readonly traces: boolean;
  /** Measures what operators who look at the console cost. */
  readonly consoles: boolean;
  /** Measures what several processes behind one port cost, compared with one. */
  readonly processes: boolean;
  /** Measures how many requests are answered in time when more are sent than the service can answer. */
  readonly overload: boolean;
  /** The exit code is 1 when a budget is exceeded or a request failed. */
  readonly enforce: boolean;
  /** Records where the server spends its time, instead of measuring. */
  readonly profile: boolean;
  /** null: wrk where it is installed, else autocannon. */
  readonly load: LoadName | null;
  readonly rounds: number;
  readonly roundSeconds: number;
  /** 0 for none. */
  readonly warmUpSeconds: number;
  readonly smallRows: number;
  readonly largeRows: number;
  /** Transactions that `bytes` stores. */
  readonly storedRows: number;
  /** Transactions of the large database of `scale`. */
  readonly scaleRows: number;
}

const LOAD_NAMES = ['wrk', 'autocannon'] as const;
export type LoadName = (typeof LOAD_NAMES)[number];

export const USAGE = `npm run bench -- [options]
  --quick             one round of half a second, among 1,000 and 2,000 transactions: only shows that it works
  --end-to-end        how soon a change reaches clients, by callback and with Prefer: wait
  --shared-limits     what limits in Valkey cost (needs redis-server)
  --traces            what traces cost, of 1 % and of all requests
  --consoles          what 20 browsers with the console open cost check-status
  --processes         what two processes behind one port cost, compared with one
  --overload          good answers while more requests arrive than the service can answer, up to 8 times as many
  --bytes             bytes of a transaction on the disk and in the write-ahead log, by table
  --feed              what a line of the feed costs the server and PostgreSQL, and COPY of the same rows
  --against <folder>  with --feed: takes turns with the code of another clone
  --scale             what requests, feed, claims, searches, retention and a start cost among 10,000 and 10 million
  --scale-millions <n>  --scale among this many million instead
  --rails             what a failed first rail, slow responses and a faulty bank cost
  --list              what a page of the list of transactions costs among 10,000 and 1,000,000
  --search            how long each search and each list of the operator takes among 1,000,000
  --list-millions <n> --list and --search among this many million instead
  --rounds <number>   how many times each target is measured (5)
  --seconds <number>  length of each measurement in whole seconds (4)
  --load <program>    wrk or autocannon (wrk where it is installed)
  --enforce           exit with code 1 when a budget is exceeded or a request failed
  --profile           write CPU profiles of the server to bench/results/ instead of measuring
`;

/** Processor time is known to 10 ms. */
const QUICK_SECONDS = 0.5;

export class OptionsError extends Error {}

/** Returns null for --help. @throws OptionsError for anything that is not in USAGE. */
export function readOptions(args: readonly string[]): Options | null {
  const values = parse(args);
  if (values.help) return null;
  const { quick, rails, list, search, bytes, feed, scale, enforce, profile } = values;
  // `lists.ts` compares 10,000 with more.
  const quickLargeRows = list || search ? 20_000 : 2_000;
  return {
    quick,
    endToEnd: values['end-to-end'],
    rails,
    list,
    search,
    bytes,
    feed,
    against: values.against ?? null,
    scale,
    sharedLimits: values['shared-limits'],
    traces: values.traces,
    consoles: values.consoles,
    processes: values.processes,
    overload: values.overload,
    enforce,
    profile,
    load: loadName(values.load),
    rounds: wholeNumber('rounds', values.rounds) ?? (quick ? 1 : 5),
    roundSeconds: wholeNumber('seconds', values.seconds) ?? (quick ? QUICK_SECONDS : 4),
    warmUpSeconds: quick ? 0 : 20,
    smallRows: quick ? 1_000 : 10_000,
    largeRows: quick ? quickLargeRows : (wholeNumber('list-millions', values['list-millions']) ?? 1) * 1_000_000,
    storedRows: quick ? 20_000 : 500_000,
    scaleRows: quick ? 50_000 : (wholeNumber('scale-millions', values['scale-millions']) ?? 10) * 1_000_000,
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
        'end-to-end': flag,
        rails: flag,
        list: flag,
        search: flag,
        bytes: flag,
        feed: flag,
        against: value,
        scale: flag,
        'scale-millions': value,
        'list-millions': value,
        'shared-limits': flag,
        traces: flag,
        consoles: flag,
        processes: flag,
        overload: flag,
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
