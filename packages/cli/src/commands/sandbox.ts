import { type Command, Option } from 'commander';
import { CommandError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { block, duration, localTime } from '../output/format.ts';
import { accountNumberOf, OUTCOMES } from '../sandbox/outcomes.ts';
import { askSandbox } from '../sandbox/running-sandbox.ts';
import type { Session, Start } from '../session.ts';
import { durationMs } from './arguments.ts';
import { examples } from './examples.ts';

interface DirectoryOption {
  readonly directory?: string;
}

interface DisburseOptions extends DirectoryOption {
  readonly outcome?: string;
  readonly account?: string;
  readonly bank?: string;
  readonly amount?: string;
  readonly name?: string;
  readonly reference?: string;
  readonly description?: string;
  readonly client?: string;
}

interface ClockOptions extends DirectoryOption {
  readonly advance?: number;
}

export function addSandbox(program: Command, start: Start): void {
  const sandbox = program
    .command('sandbox')
    .summary('try everything on this machine')
    .description('A service with a simulated bank on this machine: make disbursements, choose how they end.');
  addStart(sandbox, start);
  addDisburse(sandbox, start);
  addClock(sandbox, start);
}

const DIRECTORY = [
  '--directory <path>',
  'the data directory of the sandbox (default: TIBA_DATA_DIR, or .tiba)',
] as const;

const directoryOf = ({ environment }: Session, { directory }: DirectoryOption): string =>
  directory ?? environment.sandboxDirectory;

function addStart(sandbox: Command, start: Start): void {
  sandbox
    .command('start')
    .summary('start the sandbox and run it until Ctrl-C')
    .description("Start the sandbox of the clone of Tiba's repository in which you are. It needs nothing installed.")
    .addHelpText('after', examples(['tiba sandbox start', 'Prints its addresses, and requests to try.']))
    .action((_options: unknown, command: Command) =>
      start(command, async (session) => {
        const { startSandbox } = await import('../sandbox/start-sandbox.ts');
        return startSandbox(session, directoryOf(session, {}));
      }),
    );
}

function addDisburse(sandbox: Command, start: Start): void {
  sandbox
    .command('disburse')
    .summary('make a disbursement, and say how it ends')
    .description('Make a disbursement in the running sandbox. The simulated bank gives it the outcome that you choose.')
    .addOption(new Option('--outcome <name>', 'how it ends').choices(Object.keys(OUTCOMES)))
    .option('--account <number>', 'the account, instead of an outcome: its last digits say how it ends')
    .option('--bank <code>', 'the bank of the account (default: 014)')
    .option('--amount <amount>', 'in rupiah (default: 150000.00)')
    .option('--name <name>', "the account's holder (default: as the bank has it)")
    .option('--reference <id>', 'your reference (default: a new one)')
    .option('--description <text>', 'what the recipient reads')
    .option('--client <id>', 'whose disbursement it is (default: demo-shop)')
    .option(...DIRECTORY)
    .addHelpText(
      'after',
      examples(
        ['tiba sandbox disburse --reference INV/1', 'It arrives after two seconds.'],
        ['tiba sandbox disburse --outcome account-not-found', 'It fails.'],
        ['tiba sandbox disburse --outcome success-after-30-minutes', '`tiba sandbox clock --advance 30m` ends it now.'],
      ),
    )
    .action((options: DisburseOptions, command: Command) => start(command, (session) => disburse(session, options)));
}

function addClock(sandbox: Command, start: Start): void {
  sandbox
    .command('clock')
    .summary("advance the simulated bank's clock")
    .description("Show the simulated bank's clock, or advance it: what becomes due ends at once.")
    .option('--advance <time>', 'such as 30m or 2h', durationMs)
    .option(...DIRECTORY)
    .addHelpText('after', examples(['tiba sandbox clock --advance 30m', 'Slow disbursements arrive now.']))
    .action((options: ClockOptions, command: Command) => start(command, (session) => clock(session, options)));
}

interface Created {
  readonly transaction_id: string;
  readonly reference_id: string;
  readonly client_id: string;
  readonly bank: 'accepted' | 'rejected' | 'unknown';
}

const ORDERS: Readonly<Record<Created['bank'], readonly [meaning: string, exitCode: ExitCode]>> = {
  accepted: ['the bank has accepted it', EXIT.ok],
  rejected: ['the bank has rejected it: it is FAILED', EXIT.no],
  unknown: ['it is not known whether the bank has accepted it: it stays in PROCESS until that is known', EXIT.open],
};

async function disburse(session: Session, options: DisburseOptions): Promise<ExitCode> {
  const { output, signal } = session;
  if (options.outcome !== undefined && options.account !== undefined)
    throw new CommandError('usage', '--outcome and --account are both given', {
      advice: 'Give one of them: the outcome chooses the account.',
    });
  const account = options.outcome === undefined ? options.account : accountNumberOf(options.outcome);
  const body = {
    client_id: options.client,
    reference_id: options.reference,
    amount: options.amount,
    bank_code: options.bank,
    account_number: account,
    account_name: options.name,
    description: options.description,
  };
  const path = '/sandbox/v1/disbursements';
  const created = await askSandbox<Created>({ directory: directoryOf(session, options), path, body, signal });
  const [meaning, exitCode] = ORDERS[created.bank];
  output.result(created, () =>
    block([
      ['transaction', created.transaction_id],
      ['reference', created.reference_id],
      ['client', created.client_id],
      ['order', meaning],
      ['next', created.bank === 'rejected' ? null : `tiba status ${created.reference_id} --wait`],
    ]),
  );
  return exitCode;
}

interface BankClock {
  readonly now: string;
  readonly advanced_seconds: number;
}

async function clock(session: Session, options: ClockOptions): Promise<ExitCode> {
  const { output, signal } = session;
  const body = { advance_seconds: (options.advance ?? 0) / 1_000 };
  const path = '/sandbox/v1/clock';
  const found = await askSandbox<BankClock>({ directory: directoryOf(session, options), path, body, signal });
  output.result(found, () =>
    block([
      ['clock', localTime(found.now)],
      ['advanced', `by ${duration(found.advanced_seconds * 1_000)} in all`],
    ]),
  );
  return EXIT.ok;
}
