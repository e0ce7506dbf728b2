import { figure } from '../format.ts';
import { language } from '../preferences.ts';

export interface Series {
  readonly title: string;
  readonly tone: 'busy' | 'bad';
  /** One for each reading, the oldest first. */
  readonly values: readonly number[];
}

const WIDTH = 100;
const HEIGHT = 40;

/** Lines over the latest readings. What they say is in the text beside them too: screen readers skip the drawing. */
export function Chart({ series, readingsMax }: { readonly series: readonly Series[]; readonly readingsMax: number }) {
  const highest = Math.max(1, ...series.flatMap(({ values }) => values));
  return (
    <div class="chart" aria-hidden="true">
      <span class="tick">{figure(highest, language.value)}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" width="100%" height="96">
        <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} class="axis" />
        {series
          .filter(({ tone, values }) => tone !== 'bad' || values.some((value) => value > 0))
          .map(({ title, tone, values }) => (
            <polyline key={title} class={`line ${tone}`} points={pointsOf(values, highest, readingsMax)} />
          ))}
      </svg>
    </div>
  );
}

/** The latest reading is at the right, so that a chart fills from there. */
function pointsOf(values: readonly number[], highest: number, readingsMax: number): string {
  const step = WIDTH / Math.max(readingsMax - 1, 1);
  return values
    .map((value, index) => {
      const x = WIDTH - (values.length - 1 - index) * step;
      return `${x.toFixed(2)},${(HEIGHT - (HEIGHT * value) / highest).toFixed(2)}`;
    })
    .join(' ');
}
