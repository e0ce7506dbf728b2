import { median, pairedRatio, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { PLACES } from './bare.ts';
import type { Measured } from './end-to-end.ts';
import type { Figures } from './figures.ts';
import type { Sizes } from './sizes.ts';

/** For whoever compares the figures with others. */
export const conditions = ({ waiting }: Measured, sizes: Sizes): string =>
  [
    `medians over ${sizes.rounds} × ${sizes.roundSeconds} s; of a backlog over ${sizes.backlogRounds} × ${sizes.shortSeconds} s`,
    `times from the commit in PostgreSQL, by its own stamp; open files allowed: ${whole(waiting.openFilesMax)}`,
  ].join('\n');

export function arrivalRows({ notices, backlog, waiting, flushed }: Measured, sizes: Sizes): string {
  const changes = `${sizes.changesPerSecond} changes a second`;
  const rows: readonly (readonly [title: string, figures: Figures])[] = [
    [`bare LISTEN, ${changes}`, medians(notices.bare.map(({ heard }) => heard))],
    [`bare LISTEN and POST, ${changes}`, medians(notices.bare.map(({ carried }) => carried))],
    [`callbacks, ${changes}`, medians(notices.alone)],
    [`callbacks, ${changes}, another endpoint answers`, medians(notices.answering)],
    [`callbacks, ${changes}, another endpoint hangs`, medians(notices.hanging)],
    [`callbacks, ${changes}, flushed to disk`, flushed],
    [`bare POST, ${PLACES} at once`, medians(backlog.bare)],
    [`callbacks, ${whole(sizes.backlog)} due`, medians(backlog.alone)],
    [`callbacks, ${whole(sizes.backlog)} due, another endpoint answers`, medians(backlog.answering)],
    [`callbacks, ${whole(sizes.backlog)} due, another endpoint hangs`, medians(backlog.hanging)],
    [`Prefer: wait, ${whole(sizes.waiting)} wait, ${sizes.waitingChangesPerSecond} changes a second`, waiting.figures],
  ];
  return table([
    ['', 'per second', 'p50 ms', 'p99 ms', 'CPU µs each'],
    ...rows.map(([title, { perSecond, p50Ms, p99Ms, cpuUs }]) => [
      title,
      measured(perSecond, whole),
      measured(p50Ms, (value) => value.toFixed(2)),
      measured(p99Ms, (value) => value.toFixed(2)),
      measured(cpuUs, whole),
    ]),
  ]);
}

export function arrivalRatios({ notices, backlog, waiting }: Measured, sizes: Sizes): Ratio[] {
  const carried = notices.bare.map((round) => round.carried);
  const heard = medians(notices.bare.map((round) => round.heard));
  const { kibPerClient, idleCpu } = waiting;
  return [
    {
      title: 'callbacks: ms from the commit to the receiver, p99',
      value: medians(notices.alone).p99Ms,
      budget: { bound: 'at most', value: 50 },
    },
    {
      title: 'callbacks: changes a second that were taken in',
      value: medians(notices.alone).perSecond,
      budget: { bound: 'at least', value: Math.floor(sizes.changesPerSecond * REACHED) },
    },
    {
      title: 'callbacks, many due: per second',
      value: medians(backlog.alone).perSecond,
      budget: { bound: 'at least', value: 1_000 },
    },
    {
      title: 'callbacks, another endpoint hangs / answers: p50',
      value: pairedRatio(notices.hanging, notices.answering, 'p50Ms'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: 'callbacks, another endpoint hangs / answers: p99',
      value: pairedRatio(notices.hanging, notices.answering, 'p99Ms'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: 'callbacks, many due, another endpoint hangs / answers: per second',
      value: pairedRatio(backlog.hanging, backlog.answering, 'perSecond'),
      budget: { bound: 'at least', value: 0.9 },
    },
    {
      title: 'Prefer: wait: ms from the commit to the first byte, p99',
      value: waiting.figures.p99Ms,
      budget: { bound: 'at most', value: 20 },
    },
    {
      title: `${whole(sizes.waiting)} wait and nothing changes: CPU, % of a core`,
      value: idleCpu.withAll * 100,
      budget: { bound: 'at most', value: 5 },
    },
    { title: 'nobody waits and nothing changes: CPU, % of a core', value: idleCpu.withNobody * 100, budget: null },
    { title: 'Prefer: wait: KiB of memory for each who waits', value: kibPerClient, budget: null },
    {
      title: 'callbacks / bare LISTEN and POST: p50',
      value: pairedRatio(notices.alone, carried, 'p50Ms'),
      budget: null,
    },
    {
      title: 'callbacks / bare LISTEN and POST: p99',
      value: pairedRatio(notices.alone, carried, 'p99Ms'),
      budget: null,
    },
    {
      title: 'callbacks, many due / bare POST: per second',
      value: pairedRatio(backlog.alone, backlog.bare, 'perSecond'),
      budget: null,
    },
    { title: 'Prefer: wait / bare LISTEN: p50', value: waiting.figures.p50Ms / heard.p50Ms, budget: null },
  ];
}

/** The last ones are under way when the time is over. */
const REACHED = 0.95;

const medians = (rounds: readonly Figures[]): Figures => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
});

const measured = (value: number, show: (value: number) => string): string => (Number.isNaN(value) ? '–' : show(value));
