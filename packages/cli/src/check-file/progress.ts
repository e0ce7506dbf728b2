import type { AccountValidationProgress } from '../../../client/src/index.ts';
import { duration, localTime } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import { counted } from './counted.ts';

export interface Progress {
  /** Some accounts more are answered; `progress` is what the service says about their validation. */
  onProgress(answered: number, progress: AccountValidationProgress): void;
  end(): void;
}

interface Sample {
  readonly atMs: number;
  readonly answered: number;
}

/** The pace is that of the last seconds: banks answer in bursts. */
const PACE_MS = 20_000;
/** Where there is no terminal, a line is printed this often at most. */
const LINE_INTERVAL_MS = 10_000;
const BAR_WIDTH = 24;

/** A bar on a terminal, or else a line now and then; and a line for each bank for which the check waits. */
export function createProgress(total: number, { statusLine, note }: Pick<Output, 'statusLine' | 'note'>): Progress {
  const samples: Sample[] = [];
  const waits = new Map<string, string>();
  let answered = 0;
  let printedMs = Date.now();

  function show(secondsLeft: number | null): void {
    const nowMs = Date.now();
    samples.push({ atMs: nowMs, answered });
    while (samples.length > 2 && (samples[0]?.atMs ?? nowMs) < nowMs - PACE_MS) samples.shift();
    const pace = paceOf(samples);
    const left = pace > 0 ? (total - answered) / pace : secondsLeft;
    const line = [
      `${counted(answered)} of ${counted(total)} accounts`,
      ...(pace > 0 ? [`${pace < 10 ? pace.toFixed(1) : Math.round(pace)}/s`] : []),
      ...(left === null || answered === total ? [] : [`${duration(left * 1_000)} left`]),
    ].join('  ');
    if (statusLine !== null) statusLine.show(`${barOf(answered / total)}  ${line}`);
    else if (nowMs - printedMs >= LINE_INTERVAL_MS) {
      printedMs = nowMs;
      note(line, { answered, accounts: total, per_second: pace, seconds_left: left });
    }
  }

  /** Says what a validation waits for, once for as long as it is the same. */
  function explainWaits({ validation_id: id, held_until: until, waiting }: AccountValidationProgress): void {
    const reasons = [
      ...(until === null ? [] : [`paused until ${localTime(until)}: a limit of your account checks is reached`]),
      ...waiting
        .filter(({ bank_status: status }) => status === 'DOWN')
        .map(({ bank_name: bank }) => `${bank} does not answer now`),
    ].join('; ');
    if (reasons !== '' && reasons !== waits.get(id)) note(plain(`${reasons}. The check goes on by itself`));
    waits.set(id, reasons);
  }

  return {
    onProgress(more, progress) {
      answered += more;
      explainWaits(progress);
      show(progress.seconds_left);
    },
    end: () => statusLine?.end(),
  };
}

/** Accounts a second. The first sample of a run that goes on has what was answered before. */
function paceOf(samples: readonly Sample[]): number {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0;
  return ((last.answered - first.answered) * 1_000) / (last.atMs - first.atMs);
}

function barOf(share: number): string {
  const full = Math.floor(share * BAR_WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${String(Math.floor(share * 100)).padStart(3)} %`;
}
