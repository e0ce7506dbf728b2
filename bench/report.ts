import type { Measurement } from './measure.ts';
import { exceedsBudget, medians, type Ratio } from './ratios.ts';

export interface Row {
  readonly title: string;
  readonly figures: Measurement;
}

/** A row for each target, in their order. */
export const rowsOf = <Name extends string>(
  targets: Readonly<Record<Name, { readonly title: string }>>,
  measured: Readonly<Record<Name, readonly Measurement[]>>,
): Row[] =>
  (Object.keys(targets) as Name[]).map((name) => ({ title: targets[name].title, figures: medians(measured[name]) }));

export const rowTable = (rows: readonly Row[]): string =>
  table([
    ['', 'per second', 'p50 ms', 'p99 ms', 'server CPU µs/request', 'failed'],
    ...rows.map(({ title, figures: { perSecond, p50Ms, p99Ms, cpuUsPerRequest, failed } }) => [
      title,
      whole(perSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      cpuUsPerRequest.toFixed(1),
      whole(failed),
    ]),
  ]);

export const ratioTable = (ratios: readonly Ratio[]): string =>
  table([
    ['', 'measured', 'budget', ''],
    ...ratios.map((ratio) => {
      const { title, value, budget } = ratio;
      if (budget === null) return [title, number(value), '', ''];
      return [title, number(value), `${budget.bound} ${number(budget.value)}`, exceedsBudget(ratio) ? '✗' : '✓'];
    }),
  ]);

/** Formats a ratio, or a number per second. */
const number = (value: number): string => (value >= 100 ? whole(value) : value.toFixed(2));

export const whole = (value: number): string => Math.round(value).toLocaleString('en');

/** Formats columns as wide as their widest cell: the first left-aligned, figures right-aligned. */
export function table(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
