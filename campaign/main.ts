import { inspect } from 'node:util';
import { Interrupted, onInterruption } from '../bench/interruption.ts';
import { image } from './image.ts';
import { languages } from './languages.ts';
import { migrationBehindReader } from './migration-behind-reader.ts';
import { type Options, OptionsError, readOptions } from './options.ts';
import { overload } from './overload.ts';
import type { Part, Verdict } from './part.ts';
import { patroni } from './patroni.ts';
import { pipelining } from './pipelining.ts';
import { random } from './random.ts';
import { rollingRestart } from './rolling-restart.ts';
import { runtimes } from './runtimes.ts';
import { sharedLimits } from './shared-limits.ts';
import { terminal } from './terminal.ts';
import { unwritableLog } from './unwritable-log.ts';

/**
 * `npm run campaign`: makes trouble for a real service for as long as the user says, and judges what it did
 * (CONTRIBUTING.md). The exit code is 1 when something is wrong.
 */

/** Every part by its name on the command line. */
const PARTS: Readonly<Record<string, Part>> = {
  random,
  pipelining,
  overload,
  'unwritable-log': unwritableLog,
  'shared-limits': sharedLimits,
  'rolling-restart': rollingRestart,
  'migration-behind-reader': migrationBehindReader,
  patroni,
  image,
  languages,
  runtimes,
  terminal,
};

const USAGE = `npm run campaign -- [part] [options]
  part                one of: ${Object.keys(PARTS).join(', ')} (random)
  --hours <number>    how long, in hours, such as 0.5
  --seconds <number>  how long, in seconds (60)
  --seed <number>     replays what this seed plans
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2), Object.keys(PARTS));
    if (options === null) {
      print(USAGE);
      return 0;
    }
    return await run(options);
  } catch (error) {
    print(error instanceof OptionsError ? `${error.message}\n\n${USAGE}` : `the campaign failed: ${inspect(error)}`);
    return 1;
  }
}

async function run({ part: name, ...options }: Options): Promise<number> {
  const part = PARTS[name];
  if (part === undefined) throw new OptionsError(`there is no part ${name}`);
  await using closers = new AsyncDisposableStack();
  const signal = onInterruption(closers);
  print(`campaign ${name}: ${options.seconds} s, seed ${options.seed}`);
  const verdict = await part({ ...options, signal, print });
  report(name, verdict);
  if (verdict.findings.length > 0) return 1;
  return signal.aborted ? new Interrupted('SIGINT').exitCode : 0;
}

function report(name: string, { findings, figures }: Verdict): void {
  print('');
  for (const [figure, value] of Object.entries(figures)) print(`${figure.padEnd(32)} ${value.toLocaleString('en')}`);
  print(`${'findings'.padEnd(32)} ${findings.length}`);
  for (const { what, seed } of findings) {
    print(`\nWRONG: ${what}`);
    print(`replay: npm run campaign -- ${name} --seed ${seed}`);
  }
}

process.exitCode = await main();
