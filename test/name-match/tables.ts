import type { Evaluation, OwnFigures, PeerAtThreshold, PeerFigures } from './evaluation.ts';
import type { Figures } from './figures.ts';

/** The evaluation as Markdown tables. docs/name-match.md contains the first two. */

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => pad(cell, column)).join(' | ')} |`;
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

const figures = ({ precision, recall, falsePositiveRate }: Figures): string[] =>
  [precision, recall, falsePositiveRate].map(percent);

/** On the pairs by kind. */
export const overallTable = ({ own, peers }: Evaluation): string => summary(own, peers, 'figures');

/** On the held-out pairs, with the thresholds that were chosen on the pairs by kind. */
export const heldOutTable = ({ ownHeldOut, peers }: Evaluation): string => summary(ownHeldOut, peers, 'heldOut');

function summary(own: OwnFigures, peers: readonly PeerFigures[], set: 'figures' | 'heldOut'): string {
  const rowsOf = (purpose: string, choose: (peer: PeerFigures) => PeerAtThreshold | null) =>
    peers.map((peer) => {
      const chosen = choose(peer);
      if (chosen === null) return [`${peer.peer.name}, ${purpose}: no threshold`, '-', '-', '-'];
      return [`${peer.peer.name}, ${purpose}: ${chosen.threshold.toFixed(3)}`, ...figures(chosen[set])];
    });
  return table(
    ['taken for the same', 'precision', 'recall', 'false positives'],
    [
      ['Tiba: MATCH', ...figures(own.match)],
      ['Tiba: MATCH or CLOSE_MATCH', ...figures(own.matchOrClose)],
      ...rowsOf('best F1', ({ bestF1 }) => bestF1),
      ...rowsOf('balanced', ({ balanced }) => balanced),
      ...rowsOf('precision 99 %', ({ precise }) => precise),
    ],
  );
}

export const byKindTable = ({ ownByKind, peers }: Evaluation): string =>
  table(
    [
      'kind',
      'same',
      'different',
      'MATCH precision',
      'MATCH recall',
      'MATCH or CLOSE recall',
      'MATCH false',
      'CLOSE false',
      ...peers.map(({ peer }) => `${peer.name} recall, false`),
    ],
    [...ownByKind].map(([kind, own]) => kindRow(kind, own, peers)),
  );

function kindRow(kind: string, own: OwnFigures, peers: readonly PeerFigures[]): string[] {
  const same = own.pairs.filter((pair) => pair.isSame).length;
  const counts = [String(same), String(own.pairs.length - same)];
  return [kind, ...counts, ...kindFigures(own), ...peers.map((peer) => peerCell(own, peer.byKind.get(kind)))];
}

function kindFigures({ pairs, match, matchOrClose }: OwnFigures): string[] {
  const hasSame = pairs.some((pair) => pair.isSame);
  return [
    percent(match.precision),
    hasSame ? percent(match.recall) : '-',
    hasSame ? percent(matchOrClose.recall) : '-',
    percent(match.falsePositiveRate),
    percent(matchOrClose.falsePositiveRate - match.falsePositiveRate),
  ];
}

function peerCell(own: OwnFigures, peer: Figures | undefined): string {
  if (peer === undefined) return '-';
  const recall = own.pairs.some((pair) => pair.isSame) ? percent(peer.recall) : '-';
  return `${recall}, ${percent(peer.falsePositiveRate)}`;
}
