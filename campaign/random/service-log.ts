import type { Readable } from 'node:stream';
import type { Canaries } from './canaries.ts';
import type { CampaignRecord } from './record.ts';

const ERROR_LEVEL = 50;

export interface LogJudge {
  readonly record: Pick<CampaignRecord, 'count' | 'wrong'>;
  readonly canaries: Pick<Canaries, 'find'>;
  /** Where the lines come from, for findings. */
  readonly name: string;
  /** Whether PostgreSQL was disturbed while the service stopped: it then waits some seconds, and says what it lost. */
  readonly mayLoseAuditRecords: () => boolean;
  /** Called when the service says that it decides on limits without Valkey. */
  readonly onLimitsAlone: () => void;
}

const LOST_AUDIT_RECORDS = '"msg":"audit records lost at shutdown"';
const LIMITS_ALONE = '"msg":"valkey is away';

/**
 * Judges each line of a service's log: it is JSON, it holds no canary, and it is no error, because every fault that the
 * campaign causes is one that the service expects.
 */
export function judgeLogLine(
  line: string,
  { record, canaries, name, mayLoseAuditRecords, onLimitsAlone }: LogJudge,
): void {
  record.count('log lines');
  if (line.includes(LIMITS_ALONE)) onLimitsAlone();
  const canary = canaries.find(line);
  if (canary !== null) record.wrong('a log line holds a number, name or secret', `${name}: ${canary} in ${line}`);
  const level = levelOf(line);
  if (level === null) record.wrong('a log line is not JSON', `${name}: ${line}`);
  else if (line.includes(LOST_AUDIT_RECORDS) && mayLoseAuditRecords()) record.count('stops that lost audit records');
  else if (level >= ERROR_LEVEL) record.wrong('an error is logged', `${name}: ${line}`);
}

function levelOf(line: string): number | null {
  try {
    return Number((JSON.parse(line) as { readonly level?: number }).level);
  } catch {
    return null;
  }
}

/** Judges the lines of a stream. The last one may be cut off by a kill, so it counts only with its line break. */
export function judgeLog(stream: Readable, judge: LogJudge): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) judgeLogLine(line, judge);
  });
}
