import { type Command, Option } from 'commander';
import type { ExitCode } from '../exit-codes.ts';
import { type Session, type Start, worstOf } from '../session.ts';
import { checkStatuses, type Found } from '../status/check-statuses.ts';
import { describeOne, exitCodeOf, statusColumns, summaryOf } from '../status/describe.ts';
import { waitForAll } from '../status/wait-for-all.ts';
import { durationMs, withStandardInput } from './arguments.ts';
import { examples } from './examples.ts';

interface StatusOptions {
  readonly wait?: boolean;
  readonly deadline: number;
}

const DEADLINE_MS = 5 * 60_000;

export function addStatus(program: Command, start: Start): void {
  program
    .command('status')
    .summary('has it arrived?')
    .description(
      'Print the status of disbursements, by transaction ID or by your reference ID. `-` reads IDs from lines.',
    )
    .argument('<id...>', 'transaction IDs or reference IDs; - reads them from standard input')
    .option('--wait', 'wait until each of them is SUCCESS or FAILED')
    .addOption(
      new Option('--deadline <time>', 'with --wait: give up after this time, such as 30m')
        .argParser(durationMs)
        .default(DEADLINE_MS, '5m'),
    )
    .addHelpText(
      'after',
      examples(
        ['tiba status INV/2026/001', 'Ends with 0 when it arrived, 3 when it failed, 5 while it is in PROCESS.'],
        ['tiba status INV/2026/001 --wait --deadline 30m', 'Waits for the end: some banks take half an hour.'],
        ['cut -d, -f1 payroll.csv | tiba status - --json', 'Checks many, 100 at a time.'],
      ),
    )
    .action((ids: string[], options: StatusOptions, command: Command) =>
      start(command, (session) => status(session, ids, options)),
    );
}

async function status(session: Session, given: readonly string[], options: StatusOptions): Promise<ExitCode> {
  const { output, signal, stdin, connect } = session;
  const ids = await withStandardInput(given, stdin);
  const deadlineMs = Date.now() + options.deadline;
  const { client } = await connect();
  const table = output.table(statusColumns(output));
  const results: Found[] = [];
  function report(found: readonly Found[]): void {
    results.push(...found);
    const [only] = found;
    if (only === undefined) return;
    if (ids.length === 1) output.result(documentOf(only), () => describeOne(only, output));
    else output.rows(table, found, documentOf);
  }
  const open: Found[] = [];
  for await (const found of checkStatuses(client, ids, signal)) {
    const waiting = options.wait === true ? found.filter(isOpen) : [];
    report(found.filter((each) => !waiting.includes(each)));
    open.push(...waiting);
  }
  if (open.length > 0) await waitForAll({ client, output, signal, report }, open, deadlineMs);
  if (ids.length > 1) output.note(summaryOf(results));
  return worstOf(results.map(exitCodeOf));
}

const isOpen = (found: Found): boolean => found.transaction?.status === 'PROCESS';

/** The transaction or the error, with the ID as it was given. */
const documentOf = ({ id, transaction, error }: Found): unknown => ({ id, ...(transaction ?? error) });
