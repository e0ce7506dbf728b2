import { inspect } from 'node:util';
import { openBenchContext } from './bench-context.ts';
import { measureBytes } from './bytes/bytes.ts';
import { compare } from './compare.ts';
import { compareConsoles } from './consoles/consoles.ts';
import { measureEndToEnd } from './end-to-end/end-to-end.ts';
import { conditions, endToEndRatios, endToEndRows } from './end-to-end/report.ts';
import { measureFeed } from './feed/feed.ts';
import { Interrupted, onInterruption } from './interruption.ts';
import { measureLists, SMALL_ROWS } from './lists/lists.ts';
import { CONNECTIONS } from './load/load.ts';
import { describeMachine } from './machine.ts';
import { type Options, OptionsError, readOptions, USAGE } from './options.ts';
import { measureOverload } from './overload/overload.ts';
import { profile } from './profile.ts';
import { measureRails } from './rails/rails.ts';
import { exceedsBudget, type Ratio } from './ratios.ts';
import { ratioTable, rowTable } from './report.ts';
import { measureScale } from './scale/scale.ts';
import { measureSearches } from './search/search.ts';
import { compareProcesses } from './several-processes.ts';
import { compareSharedLimits } from './shared-limits.ts';
import { compareTraces } from './traces.ts';

/**
 * `npm run bench`: measures what the service costs, against a baseline and against its budgets (docs/benchmarks.md).
 */

/** The 99.9th percentile needs many inquiries. */
const RAILS_SECONDS = 30;
const RAILS_QUICK_SECONDS = 4;

/** Pages of each search, in each of the two databases. */
const LIST_PAGES = 300;
const LIST_QUICK_PAGES = 10;

/** The 99th percentile of each kind of search needs hundreds. */
const SEARCH_REQUESTS = 1_000;
const SEARCH_QUICK_REQUESTS = 10;

/** Of each feed of a round. */
const FEED_LINES = 20_000;
const FEED_QUICK_LINES = 2_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const logProgress = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === null) {
      print(USAGE);
      return 0;
    }
    return await run(options);
  } catch (error) {
    if (error instanceof Interrupted) logProgress(`stopped by ${error.signal}; all processes and files are removed`);
    else if (error instanceof OptionsError) logProgress(`${error.message}\n\n${USAGE}`);
    else logProgress(`the benchmark failed: ${describe(error)}`);
    return error instanceof Interrupted ? error.exitCode : 1;
  }
}

async function run(options: Options): Promise<number> {
  if (options.rails) {
    const seconds = options.quick ? RAILS_QUICK_SECONDS : RAILS_SECONDS;
    const { text, ratios } = await measureRails({ seconds, rounds: options.rounds });
    print(`${text}\n\n${ratioTable(ratios)}`);
    return end(options, ratios.some(exceedsBudget));
  }
  await using closers = new AsyncDisposableStack();
  const signal = onInterruption(closers);
  const context = await openBenchContext({ options, signal, logProgress, closers });
  print(await describeMachine(context));

  if (options.profile) {
    print(await profile(context, options));
    return 0;
  }
  if (options.list) {
    const pages = options.quick ? LIST_QUICK_PAGES : LIST_PAGES;
    const sizes = { smallRows: SMALL_ROWS, largeRows: options.largeRows, pages };
    return finish(options, await measureLists(context, sizes));
  }
  if (options.search) {
    const requests = options.quick ? SEARCH_QUICK_REQUESTS : SEARCH_REQUESTS;
    return finish(options, await measureSearches(context, { rows: options.largeRows, requests }));
  }
  if (options.scale) {
    const { smallRows, scaleRows: largeRows, quick } = options;
    return finish(options, await measureScale(context, { smallRows, largeRows, quick }));
  }
  if (options.bytes) return finish(options, await measureBytes(context, options.storedRows));
  if (options.feed) {
    const lines = options.quick ? FEED_QUICK_LINES : FEED_LINES;
    return finish(options, await measureFeed(context, { lines, rounds: options.rounds, against: options.against }));
  }
  if (options.overload) return finish(options, await measureOverload(context, options));
  if (options.endToEnd) {
    const { result, sizes } = await measureEndToEnd(context, options);
    const ratios = endToEndRatios(result, sizes);
    print(`\n${conditions(result, sizes)}\n\n${endToEndRows(result, sizes)}\n\n${ratioTable(ratios)}`);
    return end(options, ratios.some(exceedsBudget));
  }
  const { rows, ratios } = await comparisonOf(options)(context, options);
  print(`\n${CONNECTIONS} in flight, medians over ${options.rounds} × ${options.roundSeconds} s\n`);
  print(rowTable(rows));
  print('');
  print(ratioTable(ratios));
  const failed = rows.some(({ figures }) => figures.failed > 0);
  return end(options, failed || ratios.some(exceedsBudget));
}

function comparisonOf({ sharedLimits, processes, traces, consoles }: Options): typeof compare {
  if (consoles) return compareConsoles;
  if (traces) return compareTraces;
  if (processes) return compareProcesses;
  return sharedLimits ? compareSharedLimits : compare;
}

function finish(options: Options, { text, ratios }: { text: string; ratios: readonly Ratio[] }): number {
  print(`\n${text}\n\n${ratioTable(ratios)}`);
  return end(options, ratios.some(exceedsBudget));
}

function end({ quick, enforce }: Options, failed: boolean): number {
  if (quick) print('\nA quick run only shows that the benchmark works. It is too short for meaningful figures.');
  return enforce && failed ? 1 : 0;
}

/**
 * The cleanup after a failure may fail too. Prints the first failure first; Node by itself prints neither of the two.
 */
const describe = (error: unknown): string =>
  error instanceof SuppressedError
    ? `${describe(error.suppressed)}\nthe cleanup then failed: ${describe(error.error)}`
    : inspect(error);

process.exitCode = await main();
