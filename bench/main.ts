import { inspect } from 'node:util';
import { openBenchContext } from './bench-context.ts';
import { compare } from './compare.ts';
import { measureEndToEnd } from './end-to-end/end-to-end.ts';
import { arrivalRatios, arrivalRows, conditions } from './end-to-end/report.ts';
import { Interrupted, onInterruption } from './interruption.ts';
import { describeMachine } from './machine.ts';
import { type Options, OptionsError, readOptions, USAGE } from './options.ts';
import { profile } from './profile.ts';
import { measureRails } from './rails/rails.ts';
import { isMissed } from './ratios.ts';
import { ratioTable, rowTable } from './report.ts';

/** `npm run bench`: what the service costs, held against a bare server and against its own budgets (docs/benchmarks.md). */

/** The 99.9th percentile needs many answers. */
const RAILS_SECONDS = 30;
const RAILS_QUICK_SECONDS = 4;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === null) {
      print(USAGE);
      return 0;
    }
    return await run(options);
  } catch (error) {
    if (error instanceof Interrupted) say(`stopped by ${error.signal}; nothing is left behind`);
    else if (error instanceof OptionsError) say(`${error.message}\n\n${USAGE}`);
    else say(`the benchmark failed: ${describe(error)}`);
    return error instanceof Interrupted ? error.exitCode : 1;
  }
}

async function run(options: Options): Promise<number> {
  if (options.rails) {
    const seconds = options.quick ? RAILS_QUICK_SECONDS : RAILS_SECONDS;
    const { text, ratios } = await measureRails({ seconds, rounds: options.rounds });
    print(`${text}\n\n${ratioTable(ratios)}`);
    return end(options, ratios.some(isMissed));
  }
  await using closers = new AsyncDisposableStack();
  const signal = onInterruption(closers);
  const stage = await openBenchContext({ options, signal, say, closers });
  print(await describeMachine(stage));

  if (options.profile) {
    print(await profile(stage, options));
    return 0;
  }
  if (options.arrival) {
    const { measured, sizes } = await measureEndToEnd(stage, options);
    const ratios = arrivalRatios(measured, sizes);
    print(`\n${conditions(measured, sizes)}\n\n${arrivalRows(measured, sizes)}\n\n${ratioTable(ratios)}`);
    return end(options, ratios.some(isMissed));
  }
  const { rows, ratios } = await compare(stage, options);
  print(`\n${stage.load.connections} in flight, medians over ${options.rounds} × ${options.roundSeconds} s\n`);
  print(rowTable(rows));
  print('');
  print(ratioTable(ratios));
  const failed = rows.some(({ figures }) => figures.failed > 0);
  return end(options, failed || ratios.some(isMissed));
}

function end({ quick, enforce }: Options, missed: boolean): number {
  if (quick) print('\nA quick run shows that everything works. Its figures are too short to judge by.');
  return enforce && missed ? 1 : 0;
}

/** Stopping things after a failure may fail too; what came first is said first. Node shows neither of the two by itself. */
const describe = (error: unknown): string =>
  error instanceof SuppressedError
    ? `${describe(error.suppressed)}\nand after that: ${describe(error.error)}`
    : inspect(error);

process.exitCode = await main();
