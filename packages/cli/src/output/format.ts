import { plain, plainButColors, type Style } from './style.ts';

const two = (number: number): string => String(number).padStart(2, '0');

/** A time in the zone of this machine, with the zone: `2026-11-21 11:32:26 +07:00`. */
export function localTime(timestamp: string | null): string {
  if (timestamp === null) return '';
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return plain(timestamp);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  const offset = -time.getTimezoneOffset();
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `${day} ${clock} ${offset < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`;
}

/** The same for a table, where each row has it: `2026-11-21 11:32`. */
export const localMinute = (timestamp: string | null): string =>
  localTime(timestamp).slice(0, 'YYYY-MM-DD hh:mm'.length);

/** `12 min`, `3 h`, `2 days`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** An amount with its thousands apart: `150,000.00`. Digits are moved as text, so that none is rounded. */
export function money(amount: string): string {
  const [whole = '', places] = amount.split('.');
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return places === undefined ? grouped : `${grouped}.${places}`;
}

const STYLES: Readonly<Record<string, Style>> = {
  SUCCESS: 'green',
  ACTIVE: 'green',
  UP: 'green',
  delivered: 'green',
  enabled: 'green',
  ok: 'green',
  PROCESS: 'yellow',
  DEGRADED: 'yellow',
  pending: 'yellow',
  warning: 'yellow',
  FAILED: 'red',
  INACTIVE: 'red',
  NOT_FOUND: 'red',
  BLOCKED: 'red',
  DOWN: 'red',
  exhausted: 'red',
  disabled: 'red',
  failed: 'red',
};

/** The color of a status. */
export const styleOf = (status: string | null): Style | null => STYLES[status ?? ''] ?? null;

/** Names and values below each other, each in one line; what has no value is left out. */
export function block(fields: readonly (readonly [name: string, value: string | null])[]): string {
  const given = fields.filter(([, value]) => value !== null && value !== '');
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${plainButColors(value ?? '')}`).join('\n');
}
