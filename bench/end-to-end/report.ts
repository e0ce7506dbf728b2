import { median, pairedRatio, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { CONCURRENCY } from './baseline.ts';
import type { EndToEndResult } from './end-to-end.ts';
import type { Figures } from './figures.ts';
import type { Sizes } from './sizes.ts';

/** The conditions of the run, for comparisons with other runs. */
export const conditions = ({ longPolls }: EndToEndResult, sizes: Sizes): string =>
  [
    `medians over ${sizes.rounds} × ${sizes.roundSeconds} s; ` +
      `with a backlog over ${sizes.backlogRounds} × ${sizes.shortSeconds} s`,
    `times start at the commit, as PostgreSQL records it; open files allowed: ${whole(longPolls.openFilesMax)}`,
  ].join('\n');

export function endToEndRows({ latency, backlog, longPolls, durable }: EndToEndResult, sizes: Sizes): string {
  const changes = `${sizes.changesPerSecond} changes per second`;
  const due = `backlog of ${whole(sizes.backlog)}`;
  const waiting = `Prefer: wait, ${whole(sizes.longPolls)} clients`;
  const rows: readonly (readonly [title: string, figures: Figures])[] = [
    [`baseline LISTEN, ${changes}`, medians(latency.baseline.map(({ listen }) => listen))],
    [`baseline LISTEN and POST, ${changes}`, medians(latency.baseline.map(({ post }) => post))],
    [`callbacks, ${changes}`, medians(latency.oneEndpoint)],
    [`callbacks, ${changes}, second endpoint answers`, medians(latency.secondAnswers)],
    [`callbacks, ${changes}, second endpoint hangs`, medians(latency.secondHangs)],
    [`callbacks, ${changes}, flushed to disk`, durable],
    [`baseline POST, ${CONCURRENCY} in flight`, medians(backlog.baseline)],
    [`callbacks, ${due}`, medians(backlog.oneEndpoint)],
    [`callbacks, ${due}, second endpoint answers`, medians(backlog.secondAnswers)],
    [`callbacks, ${due}, second endpoint hangs`, medians(backlog.secondHangs)],
    [`${waiting}, ${sizes.longPollChangesPerSecond} changes per second`, longPolls.figures],
  ];
  return table([
    ['', 'per second', 'p50 ms', 'p99 ms', 'CPU µs each'],
    ...rows.map(([title, { perSecond, p50Ms, p99Ms, cpuUs }]) => [
      title,
      cell(perSecond, whole),
      cell(p50Ms, (value) => value.toFixed(2)),
      cell(p99Ms, (value) => value.toFixed(2)),
      cell(cpuUs, whole),
    ]),
  ]);
}

export const endToEndRatios = (result: EndToEndResult, sizes: Sizes): Ratio[] => [
  ...budgets(result, sizes),
  ...comparisons(result),
];

/** What has a limit. */
function budgets({ latency, backlog, longPolls }: EndToEndResult, sizes: Sizes): Ratio[] {
  return [
    {
      title: 'callbacks: ms from the commit to the receiver, p99',
      value: medians(latency.oneEndpoint).p99Ms,
      budget: { bound: 'at most', value: 50 },
    },
    {
      title: 'callbacks: changes per second that were fed',
      value: medians(latency.oneEndpoint).perSecond,
      budget: { bound: 'at least', value: Math.floor(sizes.changesPerSecond * REACHED_SHARE) },
    },
    {
      title: 'callbacks with a backlog: per second',
      value: medians(backlog.oneEndpoint).perSecond,
      budget: { bound: 'at least', value: 1_000 },
    },
    {
      title: 'callbacks, second endpoint hangs / answers: p50',
      value: pairedRatio(latency.secondHangs, latency.secondAnswers, 'p50Ms'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: 'callbacks, second endpoint hangs / answers: p99',
      value: pairedRatio(latency.secondHangs, latency.secondAnswers, 'p99Ms'),
      budget: { bound: 'at most', value: 1.1 },
    },
    {
      title: 'callbacks with a backlog, second endpoint hangs / answers: per second',
      value: pairedRatio(backlog.secondHangs, backlog.secondAnswers, 'perSecond'),
      budget: { bound: 'at least', value: 0.9 },
    },
    {
      title: 'Prefer: wait: ms from the commit to the first byte, p99',
      value: longPolls.figures.p99Ms,
      budget: { bound: 'at most', value: 20 },
    },
    {
      title: `${whole(sizes.longPolls)} clients wait, no changes: CPU, % of a core`,
      value: longPolls.idleCpu.withClients * 100,
      budget: { bound: 'at most', value: 5 },
    },
  ];
}

/** Further figures, without a limit. */
function comparisons({ latency, backlog, longPolls }: EndToEndResult): Ratio[] {
  const { kibPerClient, idleCpu, figures } = longPolls;
  const listen = medians(latency.baseline.map((round) => round.listen));
  const post = latency.baseline.map((round) => round.post);
  const backlogRatio = pairedRatio(backlog.oneEndpoint, backlog.baseline, 'perSecond');
  const rows: readonly (readonly [title: string, value: number])[] = [
    ['no clients wait, no changes: CPU, % of a core', idleCpu.withoutClients * 100],
    ['Prefer: wait: KiB of memory per client', kibPerClient],
    ['callbacks / baseline LISTEN and POST: p50', pairedRatio(latency.oneEndpoint, post, 'p50Ms')],
    ['callbacks / baseline LISTEN and POST: p99', pairedRatio(latency.oneEndpoint, post, 'p99Ms')],
    ['callbacks with a backlog / baseline POST: per second', backlogRatio],
    ['Prefer: wait / baseline LISTEN: p50', figures.p50Ms / listen.p50Ms],
  ];
  return rows.map(([title, value]) => ({ title, value, budget: null }));
}

/** The last updates are still in flight when the time is over. */
const REACHED_SHARE = 0.95;

const medians = (rounds: readonly Figures[]): Figures => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
});

const cell = (value: number, show: (value: number) => string): string => (Number.isNaN(value) ? '–' : show(value));
