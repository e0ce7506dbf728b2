import { median, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import type { Figures, OverloadRound, OverloadTarget } from './figures.ts';

const GOODPUT_SHARE_MIN = 0.8;

/** Of what can be answered: all that was offered, but no more than the mean of the capacities before and after it. */
const goodputShare = ({ capacity: [before, after], overload }: OverloadRound): number =>
  overload.goodPerSecond /
  Math.min((before.goodPerSecond + after.goodPerSecond) / 2, overload.offered / overload.seconds);

/** Other work on the machine changes a throughput more than the processor time of an answer. */
const cpuShare = ({ capacity: [before, after], overload }: OverloadRound): number =>
  (before.cpuUsPerGood + after.cpuUsPerGood) / 2 / overload.cpuUsPerGood;

/** Two ratios for each target and load: the medians of its rounds. */
export const overloadRatios = (targets: readonly OverloadTarget[]): Ratio[] =>
  targets.flatMap(({ title, rounds }) =>
    [...byTimes(rounds)].flatMap(([times, measured]) => [
      {
        title: `${title}, ${times} times the capacity: goodput`,
        value: median(measured.map(goodputShare)),
        budget: { bound: 'at least', value: GOODPUT_SHARE_MIN } as const,
      },
      {
        title: `${title}, capacity / ${times} times: CPU per good answer`,
        value: median(measured.map(cpuShare)),
        budget: null,
      },
    ]),
  );

/** A row for each load, with the median of each figure. */
export const overloadTable = (targets: readonly OverloadTarget[]): string =>
  table([
    [
      'per second',
      'offered',
      'not sent',
      'good',
      'within 1 s',
      'gave up',
      'failed',
      'other answers',
      'p50 ms',
      'p99 ms',
      'CPU µs/good',
      'RSS MiB',
    ],
    ...targets.flatMap(({ title, rounds }) => [
      row(
        `${title}, capacity`,
        rounds.map(({ capacity: [, after] }) => after),
      ),
      ...[...byTimes(rounds)].map(([times, measured]) =>
        row(
          `${title}, ${times} times`,
          measured.map(({ overload }) => overload),
        ),
      ),
    ]),
  ]);

const byTimes = (rounds: readonly OverloadRound[]): Map<number, OverloadRound[]> =>
  Map.groupBy(rounds, ({ times }) => times);

function row(title: string, measured: readonly Figures[]): string[] {
  const of = (figure: (each: Figures) => number | null): number =>
    median(measured.map((each) => figure(each) ?? Number.NaN));
  const perSecond = (figure: (each: Figures) => number): string => whole(of((each) => figure(each) / each.seconds));
  return [
    title,
    perSecond(({ offered }) => offered),
    perSecond(({ notSent }) => notSent),
    perSecond(({ good }) => good),
    perSecond(({ soon }) => soon),
    perSecond(({ gaveUp }) => gaveUp),
    perSecond(({ failed }) => failed),
    otherAnswers(measured),
    of(({ p50Ms }) => p50Ms).toFixed(1),
    of(({ p99Ms }) => p99Ms).toFixed(1),
    of(({ cpuUsPerGood }) => cpuUsPerGood).toFixed(0),
    whole(of(({ residentMib }) => residentMib)),
  ];
}

/** Such as `1,200 × 503`. */
function otherAnswers(measured: readonly Figures[]): string {
  const statuses = new Set(measured.flatMap(({ others }) => Object.keys(others)));
  const each = [...statuses].map((status) => {
    const perSecond = median(measured.map(({ others, seconds }) => (others[status] ?? 0) / seconds));
    return `${whole(perSecond)} × ${status}`;
  });
  return each.join(', ') || '0';
}
