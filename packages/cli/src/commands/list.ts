import { type Command, Option } from 'commander';
import type { Transaction, TransactionFilter } from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session, Start } from '../session.ts';
import { transactionColumns } from '../status/describe.ts';
import { time, wholeNumber } from './arguments.ts';
import { examples } from './examples.ts';

interface ListOptions {
  readonly status?: 'PROCESS' | 'SUCCESS' | 'FAILED';
  readonly overdue?: boolean;
  readonly bank?: string;
  readonly account?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
  readonly processedFrom?: string;
  readonly processedTo?: string;
  readonly amountFrom?: string;
  readonly amountTo?: string;
  readonly limit: number;
  readonly all?: boolean;
}

const LIMIT = 50;

export function addList(program: Command, start: Start): void {
  program
    .command('list')
    .summary('which have arrived, and which have not?')
    .description('List your disbursements, the newest first. Filters are combined.')
    .addOption(new Option('--status <status>', 'only in this status').choices(['PROCESS', 'SUCCESS', 'FAILED']))
    .option('--overdue', 'only those that take longer than their bank usually does')
    .option('--bank <code>', 'only to this bank')
    .option('--account <number>', 'only to this account')
    .option('--created-from <time>', 'a day, a time with its zone, or an age such as 2h', time)
    .option('--created-to <time>', 'before this time', time)
    .option('--processed-from <time>', 'ended at this time or later', time)
    .option('--processed-to <time>', 'ended before this time', time)
    .option('--amount-from <amount>', 'at least this amount')
    .option('--amount-to <amount>', 'at most this amount')
    .addOption(new Option('--limit <number>', 'print as many at most').argParser(wholeNumber(1)).default(LIMIT))
    .option('--all', 'print all of them, page after page')
    .addHelpText(
      'after',
      examples(
        ['tiba list --status PROCESS --overdue', 'What is late at the moment.'],
        ['tiba list --status FAILED --created-from 2026-11-21 --all --json', 'All failures since that day.'],
      ),
    )
    .action((options: ListOptions, command: Command) => start(command, (session) => list(session, options)));
}

/** The service gives as many at once. */
const PAGE_MAX = 200;

async function list({ connect, output, signal }: Session, options: ListOptions): Promise<ExitCode> {
  const { client } = await connect();
  const table = output.table(transactionColumns(output));
  const countMax = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  const filter = { ...filterOf(options), limit: Math.min(PAGE_MAX, countMax) };
  let count = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await client.transactions.page({ ...filter, cursor }, { signal });
    const printed: readonly Transaction[] = page.transactions.slice(0, countMax - count);
    if (printed.length > 0) output.rows(table, printed);
    count += printed.length;
    const isEnd = page.next_cursor === null;
    if (count >= countMax && !(isEnd && printed.length === page.transactions.length)) {
      output.note(`these are the newest ${count}; --all prints all of them`);
      break;
    }
    if (isEnd) break;
    cursor = page.next_cursor;
  }
  if (count === 0) output.note('none of your disbursements matches');
  return EXIT.ok;
}

const filterOf = (options: ListOptions): TransactionFilter => ({
  status: options.status,
  overdue: options.overdue === true ? 'true' : undefined,
  bank_code: options.bank,
  account_number: options.account,
  created_from: options.createdFrom,
  created_to: options.createdTo,
  processed_from: options.processedFrom,
  processed_to: options.processedTo,
  amount_from: options.amountFrom,
  amount_to: options.amountTo,
});
