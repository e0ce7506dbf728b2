import type { Command } from 'commander';
import type { Bank } from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { localTime, styleOf } from '../output/format.ts';
import type { Session, Start } from '../session.ts';
import { examples } from './examples.ts';

export function addBanks(program: Command, start: Start): void {
  program
    .command('banks')
    .summary('which banks are there, and do they answer?')
    .description(
      'List banks, e-wallets and aliases with their codes, and whether account checks succeed at the moment.',
    )
    .argument('[search...]', 'a part of the name, a short name or a code')
    .option('--down', 'only those whose account checks fail, wholly or in part')
    .addHelpText(
      'after',
      examples(
        ['tiba banks mandiri', 'Banks with this in their name. Ends with 3 when there is none.'],
        ['tiba banks --down', 'What does not work at the moment.'],
      ),
    )
    .action((search: string[], options: { readonly down?: boolean }, command: Command) =>
      start(command, (session) => banks(session, search.join(' '), options.down === true)),
    );
}

async function banks({ connect, output, signal }: Session, search: string, isDown: boolean): Promise<ExitCode> {
  const { client } = await connect();
  const { banks: all } = await client.banks.list({ signal });
  const matching = all.filter((bank) => matches(bank, search));
  const found = isDown ? matching.filter(({ status }) => status === 'DOWN' || status === 'DEGRADED') : matching;
  const table = output.table<Bank>([
    { title: 'CODE', cell: (bank) => bank.bank_code },
    { title: 'BIC', cell: (bank) => bank.bic ?? '' },
    { title: 'SHORT NAMES', cell: (bank) => bank.short_names.join(', ') },
    { title: 'NAME', cell: (bank) => bank.bank_name },
    { title: 'CHECKS', cell: checksOf, style: ({ status }) => styleOf(status) },
    { title: 'SINCE', cell: ({ since }) => localTime(since) },
    {
      title: 'USUALLY',
      cell: ({ account_checks: times }) => (times === null ? '' : `${times.p50_ms} to ${times.p95_ms} ms`),
    },
  ]);
  if (found.length > 0) {
    output.rows(table, found);
    return EXIT.ok;
  }
  if (matching.length === 0) {
    output.note(`none of the ${all.length} banks matches: try a shorter part of the name`);
    return EXIT.no;
  }
  output.note('none of them is down or degraded');
  return EXIT.ok;
}

const checksOf = ({ check_account: supported, status }: Bank): string => (supported ? (status ?? '') : 'not supported');

/** Compared without case, spaces and dots: `bank bca` finds `Bank BCA`. */
const simplified = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

function matches({ bank_code: code, bic, bank_name: name, short_names: shortNames }: Bank, search: string): boolean {
  const wanted = simplified(search);
  return [code, bic ?? '', name, ...shortNames].some((text) => simplified(text).includes(wanted));
}
