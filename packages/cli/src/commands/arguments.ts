import { InvalidArgumentError } from 'commander';
import { CommandError } from '../errors.ts';
import { withoutMark } from '../text-file.ts';

/** Reads and checks what commands are given. */

/** A whole number of at least `min`. */
export const wholeNumber =
  (min: number) =>
  (value: string): number => {
    const number = Number(value);
    if (/^\d{1,15}$/.test(value) && number >= min) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min}.`);
  };

/** Seconds, also a part of one. */
export function seconds(value: string): number {
  const number = Number(value);
  if (/^\d{1,6}(?:\.\d{1,3})?$/.test(value) && number >= 0.1) return number;
  throw new InvalidArgumentError('It must be a number of seconds from 0.1.');
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `5m`, `2h`, `7d`: milliseconds. */
export function durationMs(value: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (count === '') throw new InvalidArgumentError('It must be a number with s, m, h or d, such as 30m.');
  return Number(count) * (UNITS_MS[unit] ?? 0);
}

/**
 * A time as the service reads it. A day begins at midnight where this machine is; `2h` is two hours ago; a time with
 * its zone is passed on.
 */
export function time(value: string): string {
  if (/^\d{1,6}[smhd]$/.test(value)) return new Date(Date.now() - durationMs(value)).toISOString();
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(value);
  const parsed = new Date(isDay ? `${value}T00:00:00` : value);
  if (Number.isNaN(parsed.getTime()) || !(isDay || /(?:Z|[+-]\d{2}:\d{2})$/.test(value))) {
    throw new InvalidArgumentError('It must be a day (2026-11-21), a time with its zone (RFC 3339), or an age (2h).');
  }
  return parsed.toISOString();
}

/**
 * The values of an argument, where `-` stands for the lines of standard input.
 * @throws CommandError when standard input has none: the program before this one has failed
 */
export async function withStandardInput(values: readonly string[], stdin: NodeJS.ReadStream): Promise<string[]> {
  if (!values.includes('-')) return [...values];
  if (values.filter((value) => value === '-').length > 1) {
    throw new CommandError('usage', '- is given twice', { advice: 'Standard input can be read once.' });
  }
  let text = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin) text += String(chunk);
  const lines = withoutMark(text)
    .split('\n')
    .map((line) => line.replace(/\r$/, ''));
  const read = lines.filter((line) => line !== '');
  if (read.length === 0) {
    throw new CommandError('usage', 'standard input is empty', {
      advice: 'Check the command whose output it is: - expects one value in each line.',
    });
  }
  return values.flatMap((value) => (value === '-' ? read : [value]));
}
