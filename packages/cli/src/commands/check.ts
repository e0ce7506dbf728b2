import type { Command } from 'commander';
import type { CheckedAccount, TibaError } from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { block, styleOf } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import type { Session, Start } from '../session.ts';
import { wholeNumber } from './arguments.ts';
import { examples } from './examples.ts';

interface CheckOptions {
  readonly name?: string;
  readonly maxAge?: number;
}

export function addCheck(program: Command, start: Start): void {
  program
    .command('check')
    .summary('can this account receive money?')
    .description('Ask the bank whether an account can receive money and, with --name, whether it is that person.')
    .argument('<bank>', 'clearing code, BIC or short name, such as BCA; `tiba banks` lists them')
    .argument('<account>', 'the account number')
    .option('--name <name>', 'the holder that you expect')
    .option('--max-age <seconds>', 'take an earlier verdict that is at most this old', wholeNumber(1))
    .addHelpText(
      'after',
      examples(
        ['tiba check BCA 1234567890', 'Ends with 0 when the account is active, and with 3 when it cannot be paid.'],
        ['tiba check BCA 1234567890 --name "Kartika Prasetyo"', 'Compares the name too.'],
      ),
    )
    .action((bank: string, account: string, options: CheckOptions, command: Command) =>
      start(command, (session) => check(session, { bank, account, ...options })),
    );
}

interface Given extends CheckOptions {
  readonly bank: string;
  readonly account: string;
}

async function check({ connect, output, signal }: Session, given: Given): Promise<ExitCode> {
  const { client } = await connect();
  const checked = await showingProgress(output, (onRetry) =>
    client.checkAccount(
      { bank_code: given.bank, account_number: given.account, expected_account_name: given.name },
      { signal, maxAgeSeconds: given.maxAge, onRetry },
    ),
  );
  output.result(checked, () => describe(checked, output));
  return exitCodeOf(checked);
}

/** A bank may take seconds, and a call that is repeated longer: a person at a terminal sees what it waits for. */
async function showingProgress(
  { statusLine }: Output,
  check: (onRetry: (error: TibaError, waitMs: number) => void) => Promise<CheckedAccount>,
): Promise<CheckedAccount> {
  statusLine?.show('asking the bank');
  try {
    return await check(({ operation, message }, waitMs) => {
      const what = operation === 'createAccessToken' ? 'will log in again' : 'will retry';
      statusLine?.show(`${what} in ${Math.ceil(waitMs / 1_000)} s: ${message}`);
    });
  } finally {
    statusLine?.end();
  }
}

function exitCodeOf({ is_valid: isValid, name_match: match }: CheckedAccount): ExitCode {
  if (!isValid || match?.result === 'NO_MATCH') return EXIT.no;
  return match === undefined || match.result === 'MATCH' ? EXIT.ok : EXIT.open;
}

const MEANINGS: Readonly<Record<CheckedAccount['status'], string>> = {
  ACTIVE: 'it can receive money',
  INACTIVE: 'it exists and is not active: ask the recipient for another account',
  NOT_FOUND: 'there is no such account: correct the number, or the bank',
  BLOCKED: 'it is blocked or suspended: the recipient must settle that with the bank',
};

const MATCHES = {
  MATCH: 'the name is the expected one',
  CLOSE_MATCH: 'a person should compare the names',
  NO_MATCH: 'it belongs to another person: do not pay before you have asked the recipient',
  NOT_POSSIBLE: 'the names cannot be compared',
} as const;

function describe(checked: CheckedAccount, { paint, number, name }: Output): string {
  const { status, name_match: match } = checked;
  const style = styleOf(status);
  return block([
    ['account', `${plain(checked.bank_name)} ${number(checked.account_number)}`],
    ['status', `${style === null ? status : paint(style, status)}: ${MEANINGS[status] ?? 'update this program'}`],
    ['holder', checked.account_name === null ? null : name(checked.account_name)],
    ['name', match === undefined ? null : `${match.result}: ${MATCHES[match.result] ?? 'update this program'}`],
    ['because', match === undefined || match.result === 'MATCH' ? null : match.reasons.join(', ')],
  ]);
}
