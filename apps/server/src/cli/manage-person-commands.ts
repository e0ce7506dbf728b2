import { withArchiveLease } from '../archive/archive-schedule.ts';
import { openDataKey } from '../auth/secret-key.ts';
import type { Settings } from '../config/config.ts';
import { AccountNumber } from '../domain/account.ts';
import { createBankDirectory } from '../domain/bank.ts';
import bankEntries from '../domain/banks.json' with { type: 'json' };
import { NOT_EXAMINED } from '../domain/eraser.ts';
import { type ErasureResult, erasePerson } from '../personal-data/erase-person.ts';
import { exportPerson } from '../personal-data/export-person.ts';
import { createPerson, type Person } from '../personal-data/person.ts';
import { listArchiveFiles } from '../postgres/archive-files.ts';
import { type Database, readDatabaseTime } from '../postgres/database.ts';
import { findInstallationKey } from '../postgres/installation-key.ts';
import { recordingAction } from '../postgres/operator-actions.ts';
import { requireExisting } from './manage-archive-commands.ts';
import { type Command, type CommandContext, type CommandResult, type Options, UsageError } from './manage-command.ts';
import { openKeyring } from './manage-keyring.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Requests of account holders (docs/operating.md, "Personal data"). */
export const PERSON_COMMANDS: Readonly<Record<string, Command>> = {
  'person export': {
    summary: 'print everything that is stored about the holder of an account',
    description: 'One JSON document in each line, with where it lies. It needs TIBA_SECRET_KEY.',
    options: ['account', 'bank', 'reason'],
    recordsItself: true,
    run: exportOne,
  },

  'person erase': {
    summary: 'replace the numbers and names of the holder of an account',
    description: 'What is under the legal hold stays, and is listed. Stopped, it goes on when it is run again.',
    options: ['account', 'bank', 'dry-run', 'reason'],
    recordsItself: true,
    run: erase,
  },
};

async function exportOne(
  database: Database,
  _id: string,
  options: Options,
  settings: Settings,
  { actor, print }: CommandContext,
): Promise<CommandResult> {
  const person = await readPerson(database, options, settings);
  const directory = await directoryOf(database, settings);
  await record(database, { actor, action: 'person export', person, reason: requireReason(options), after: null });
  const records = await Array.fromAsync(exportPerson(database, person, directory));
  if (records.length === 0) print('Nothing is stored about this account.');
  return { document: { records }, text: records.map((each) => JSON.stringify(each)).join('\n') };
}

async function erase(
  database: Database,
  _id: string,
  options: Options,
  settings: Settings,
  { actor, print }: CommandContext,
): Promise<CommandResult> {
  const person = await readPerson(database, options, settings);
  const directory = await directoryOf(database, settings);
  const isDryRun = options['dry-run'] !== undefined;
  const reason = requireReason(options);
  const days = requireLegalHold(settings);
  const now = await readDatabaseTime(database);
  const holdBefore = new Date(now.getTime() - days * DAY_MS);
  const legalHold = { legal_hold_days: days, ended_before: holdBefore.toISOString() };
  // Recorded before the first change, so that a killed command has left a record.
  const audit = { actor, person, reason };
  if (!isDryRun) await record(database, { ...audit, action: 'person erase', after: JSON.stringify(legalHold) });
  const result = await withArchiveLease(database, (lease) =>
    erasePerson({ database, person, directory, holdBefore, isDryRun, lease, print }),
  );
  if (!isDryRun) {
    const after = JSON.stringify({ ...countsOf(result), left: result.left.length });
    await record(database, { ...audit, action: 'person erased', after });
  }
  return {
    document: {
      ...countsOf(result),
      left: result.left,
      ...legalHold,
      not_examined: NOT_EXAMINED,
      is_dry_run: isDryRun,
    },
    text: [
      `The legal hold ends for what ended before ${legalHold.ended_before} (TIBA_LEGAL_HOLD_DAYS=${days}).`,
      describe(result, isDryRun),
    ].join('\n'),
  };
}

const countsOf = (result: ErasureResult) => ({
  transactions: result.transactions,
  validation_rows: result.validationRows,
  account_checks: result.accountChecks,
  archived_transactions: result.archivedTransactions,
  archive_files: result.archiveFiles,
});

const describe = (result: ErasureResult, isDryRun: boolean): string =>
  [
    `${isDryRun ? 'It would erase' : 'Erased'}: ${result.transactions} transactions, ` +
      `${result.validationRows} rows of bulk validations, ${result.accountChecks} audit records of checks, ` +
      `${result.archivedTransactions} transactions in ${result.archiveFiles} archive files.`,
    ...(result.left.length === 0 ? [] : [`Left: ${result.left.length}`]),
    ...result.left.map(({ where, client_id: clientId, id, reason }) => `${where}\t${clientId}\t${id}\t${reason}`),
    `Not examined: ${NOT_EXAMINED.join(', ')} of transactions. Look there if a core writes numbers or names in them.`,
  ].join('\n');

async function readPerson(database: Database, { account, bank }: Options, settings: Settings): Promise<Person> {
  const text = readAccount(account ?? '');
  const banks = createBankDirectory(bankEntries);
  const found = bank === undefined ? null : banks.find(bank);
  if (bank !== undefined && found === null) throw new UsageError('--bank takes a clearing code, a BIC or a short name');
  if ((await findInstallationKey(database)) === null) {
    throw new UsageError('no service has used this database yet: nothing is stored');
  }
  const dataKey = await openDataKey(database, await openKeyring(database, settings));
  return createPerson(text, found, { banks, dataKey });
}

/** People write numbers with spaces, dots and hyphens. In an e-mail address these have a meaning. */
function readAccount(account: string): string {
  if (AccountNumber.parseAlias(account) !== null) return account;
  const digits = account.replaceAll(/[\s.-]/g, '');
  if (AccountNumber.parse(digits) !== null || AccountNumber.parseMobile(digits) !== null) return digits;
  throw new UsageError(
    '--account takes 5 to 34 digits, the number of an account or of an e-wallet, or the e-mail address of an alias',
  );
}

/** The service does not know it, so no environment of a service can be taken by mistake. */
function requireLegalHold({ legalHoldDays }: Settings): number {
  if (legalHoldDays !== null) return legalHoldDays;
  throw new UsageError(
    'TIBA_LEGAL_HOLD_DAYS is missing: set it to the days for which your law keeps transactions, such as 3650. ' +
      'What is erased cannot be brought back',
  );
}

/** Without the directory, or while its disk is not mounted, what is in the archive would be forgotten. */
async function directoryOf(database: Database, settings: Settings): Promise<string | null> {
  if (settings.archiveDirectory !== null) return requireExisting(database, settings);
  const { done = false } = await listArchiveFiles(database, { clientId: null, month: null }).next();
  return done ? null : requireExisting(database, settings);
}

function requireReason({ reason }: Options): string {
  if (reason !== undefined && reason.trim() !== '') return reason;
  throw new UsageError('--reason is missing: say why, such as the number of the request; without the account number');
}

interface PersonAction extends Pick<CommandContext, 'actor'> {
  readonly action: string;
  readonly person: Person;
  readonly reason: string;
  readonly after: string | null;
}

/** The record has a keyed hash instead of the number. */
const record = (database: Database, { actor, action, person, reason, after }: PersonAction): Promise<void> =>
  recordingAction(database, actor, () =>
    Promise.resolve({
      result: undefined,
      record: { action, clientId: null, subjectId: person.hash, reason, before: null, after },
    }),
  );
