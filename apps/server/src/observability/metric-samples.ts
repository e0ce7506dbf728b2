/** One line of the Prometheus text format. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of these metrics in a text that Tiba rendered (Prometheus text format 0.0.4). */
export function readSamples(text: string, names: ReadonlySet<string>): MetricSample[] {
  return text.split('\n').flatMap((line) => {
    const end = line.search(/[{ ]/);
    if (end <= 0 || !names.has(line.slice(0, end))) return [];
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', quoted = '']): [string, string] => [
      label,
      quoted.replaceAll(/\\(.)/g, '$1'),
    ]);
    return name === '' ? [] : [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
