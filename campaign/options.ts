import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface Options {
  /** The name of the part. */
  readonly part: string;
  readonly seconds: number;
  readonly seed: number;
  /** The user gave the seed. */
  readonly isReplay: boolean;
}

/** The command line is wrong; the message says how. */
export class OptionsError extends Error {}

const DEFAULT_SECONDS = 60;
const SECONDS_PER_HOUR = 3_600;
const SEEDS = 2 ** 31;

/** Returns null for --help. @throws OptionsError for anything that the usage does not name. */
export function readOptions(args: readonly string[], parts: readonly string[]): Options | null {
  const { values, positionals } = parse(args);
  if (values.help) return null;
  const [part = 'random', ...more] = positionals;
  if (more.length > 0) throw new OptionsError(`there is one part at a time, without: ${more.join(' ')}`);
  if (!parts.includes(part)) throw new OptionsError(`there is no part ${part}: choose ${parts.join(', ')}`);
  if (values.hours !== undefined && values.seconds !== undefined)
    throw new OptionsError('--hours and --seconds exclude each other');
  const hours = readNumber('hours', values.hours);
  const seed = readNumber('seed', values.seed);
  if (seed !== null && (!Number.isInteger(seed) || seed >= SEEDS))
    throw new OptionsError(`--seed must be a whole number below ${SEEDS}`);
  return {
    part,
    seconds: hours === null ? (readNumber('seconds', values.seconds) ?? DEFAULT_SECONDS) : hours * SECONDS_PER_HOUR,
    seed: seed ?? randomInt(SEEDS),
    isReplay: seed !== null,
  };
}

function parse(args: readonly string[]) {
  const value = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: { help: { type: 'boolean', default: false }, hours: value, seconds: value, seed: value },
      allowPositionals: true,
    });
  } catch (error) {
    throw new OptionsError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function readNumber(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,10}(?:\.\d{1,3})?$/.test(text)) throw new OptionsError(`--${name} must be a number, such as 0.5`);
  return Number(text);
}
