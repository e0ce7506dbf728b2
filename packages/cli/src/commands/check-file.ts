import { type Command, Option } from 'commander';
import { ENCODINGS, type Encoding } from '../check-file/decode.ts';
import type { Delimiter } from '../check-file/table.ts';
import type { Start } from '../session.ts';
import { examples } from './examples.ts';

interface CheckFileOptions {
  readonly output: string;
  readonly bankColumn?: string;
  readonly accountColumn?: string;
  readonly nameColumn?: string;
  readonly bank?: string;
  readonly sheet?: string;
  readonly encoding?: Encoding;
  readonly separator?: keyof typeof SEPARATORS;
  readonly restoreZeros?: boolean;
  readonly strict?: boolean;
  readonly dryRun?: boolean;
  readonly startOver?: boolean;
  readonly overwrite?: boolean;
}

const SEPARATORS = { comma: ',', semicolon: ';', tab: '\t' } as const satisfies Record<string, Delimiter>;

export function addCheckFile(program: Command, start: Start): void {
  withOptions(
    program
      .command('check-file')
      .summary('check all accounts of a file')
      .description(
        'Check the accounts of a CSV, a workbook (.xlsx) or NDJSON. The results have the rows and columns of the ' +
          'file, and what was found. After Ctrl-C or a power loss the same command goes on, and asks no bank twice.',
      )
      .argument('<file>', 'the file; - reads standard input'),
  )
    .addHelpText(
      'after',
      examples(
        ['tiba check-file payroll.xlsx -o checked.csv', 'Finds the columns by their names.'],
        [
          'tiba check-file list.csv -o out.csv --account-column C --bank BCA',
          'Names the column, and one bank for all.',
        ],
        ['tiba check-file payroll.xlsx -o checked.csv --dry-run', 'Shows what would be checked, and what is wrong.'],
      ),
    )
    .action((file: string, options: CheckFileOptions, command: Command) =>
      start(command, async (session) => {
        const { checkFile } = await import('../check-file/check-file.ts');
        return checkFile(session, {
          input: file,
          output: options.output,
          columns: {
            bank: options.bankColumn ?? null,
            account: options.accountColumn ?? null,
            name: options.nameColumn ?? null,
          },
          bank: options.bank ?? null,
          sheet: options.sheet ?? null,
          encoding: options.encoding ?? null,
          delimiter: options.separator === undefined ? null : SEPARATORS[options.separator],
          restoresZeros: options.restoreZeros === true,
          isStrict: options.strict === true,
          isDryRun: options.dryRun === true,
          startsOver: options.startOver === true,
          overwrites: options.overwrite === true,
        });
      }),
    );
}

const withOptions = (command: Command): Command =>
  command
    .requiredOption('-o, --output <file>', 'the CSV for the results')
    .option('--bank-column <column>', 'the column with the bank: its name, letter or position')
    .option('--account-column <column>', 'the column with the account number')
    .option('--name-column <column>', "the column with the holder's name, to compare")
    .option('--bank <code>', 'the bank of all rows')
    .option('--sheet <name>', 'the sheet of a workbook (default: the first visible one)')
    .addOption(new Option('--encoding <name>', 'of the text (default: as its bytes say)').choices(ENCODINGS))
    .addOption(
      new Option('--separator <name>', 'of a CSV (default: as in the header row)').choices(Object.keys(SEPARATORS)),
    )
    .option('--restore-zeros', 'add the zeros that a spreadsheet has removed, where the bank says how many')
    .option('--strict', 'check nothing unless all rows can be checked')
    .option('--dry-run', 'say what is in the file, and check nothing')
    .option('--overwrite', 'replace the results of an earlier run')
    .option('--start-over', 'forget an unfinished run, and check everything again');
