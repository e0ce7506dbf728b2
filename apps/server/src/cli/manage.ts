import { hostname, userInfo } from 'node:os';
import { Command as Commander, CommanderError, Option } from 'commander';
import { ROLES } from '../auth/roles.ts';
import { SCOPES } from '../auth/scopes.ts';
import { SIGNING_ALGORITHMS } from '../auth/signing-keys.ts';
import { readSettings, type Settings } from '../config/config.ts';
import { withoutBidiControls } from '../domain/identifiers.ts';
import { StartError } from '../lib/start-error.ts';
import { createLog } from '../observability/log.ts';
import { type Database, DatabaseUnavailable, openDatabase } from '../postgres/database.ts';
import { isDistributed } from '../postgres/distributed/distribution.ts';
import { findManagedState, lockManagedState } from '../postgres/managed-state.ts';
import { requireSchema } from '../postgres/migrate.ts';
import { type Recorded, recordingAction } from '../postgres/operator-actions.ts';
import { asStartError, unusable } from '../postgres/prepare-database.ts';
import { adviseOnArchive } from './archive-advice.ts';
import { type Command, type CommandResult, type Options, UsageError } from './manage-command.ts';
import { COMMANDS } from './manage-commands.ts';
import { connectToPostgres } from './open-postgres.ts';

const ABOUT = `
Each change is recorded, with your user name and host. --reason says why.

The commands work on the service's database while the service runs. Set DATABASE_URL, or TIBA_DATA_DIR for the embedded
PostgreSQL, to the service's values; without either, the sandbox in ./.tiba is used. No command creates a database.`;

const OPTIONS: Readonly<Record<keyof Options, readonly [value: string, description: string]>> = {
  name: ['name', 'a name for people (default: the ID)'],
  scope: ['scopes', `what the client may do: one or more of "${SCOPES.join(' ')}"`],
  algorithm: ['algorithm', `of the key: ${SIGNING_ALGORITHMS.join(' or ')} (default: EdDSA)`],
  'check-status': ['number', 'requests to check-status a minute, or default'],
  'check-account': ['number', 'requests to check-account a minute, or default'],
  'accounts-per-day': ['number', 'different accounts that may be checked a day, or default'],
  'partner-id': ['id', 'the X-PARTNER-ID of its requests'],
  'external-ids': ['rule', 'strict: an X-EXTERNAL-ID may be used once a day; off: as often as the client likes'],
  'body-hash': ['rule', 'how the body is signed: minified or without_whitespace'],
  'clock-skew': ['seconds', 'by how much X-TIMESTAMP may be off; token requests may be off by 300 s at most'],
  add: ['file', 'a file with the RSA public key (PEM)'],
  remove: ['key-id', 'the ID of the key'],
  'former-hours': ['hours', 'for how long the former secret stays valid (default: 24)'],
  secret: ['secret-id', 'the ID of the secret'],
  person: ['subject', 'the subject of the person, as the login has it'],
  session: ['session-id', 'the ID of the session'],
  role: ['role', `what the person may do: ${ROLES.join(', ')} (default: approver)`],
  'without-approval': ['text', 'why it is done without the second person that TIBA_FOUR_EYES asks for; recorded'],
  reason: ['text', 'why, for the record of what operators did'],
  client: ['id', 'of this client only'],
  month: ['YYYY-MM', 'transactions that ended in this month, in UTC'],
  'hold-hours': ['hours', 'for how long no retention deletes transactions or their history (default: 24)'],
  account: ['number', 'the account number'],
  bank: ['code', 'only at this bank: at another one, the same number is of another person'],
  'dry-run': ['', 'list what would be changed, and change nothing'],
};

const GROUPS: Readonly<Record<string, string>> = {
  client: 'clients of the API: their secrets, scopes and limits',
  keys: 'the keys that sign access tokens',
  session: 'people who are logged in on the operator listener',
  audit: 'the record of what operators did',
  archive: 'the files of finished transactions with their history',
  person: 'what is stored about the holder of an account',
};

const STDERR = 2;

/**
 * `npm run manage -- …`: prints the result to stdout, with `--json` as one document; prints the database, and any
 * error, to stderr.
 */
export async function manage(args: string[]): Promise<void> {
  const isJson = args.includes('--json');
  const program = createProgram(async (invocation) => {
    const { document, text } = await run(invocation);
    const result = isJson ? JSON.stringify(document) : text;
    if (result !== '') process.stdout.write(`${result}\n`);
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 1;
    else if (error instanceof UsageError) {
      process.stderr.write(
        isJson ? `${JSON.stringify({ level: 'error', message: error.message })}\n` : `${error.message}\n`,
      );
      process.exitCode = 1;
    } else throw asStartError(error);
  }
}

/** A command as it was given. */
interface Invocation {
  readonly name: string;
  readonly command: Command;
  /** '' for a command that does not concern one client. */
  readonly id: string;
  readonly options: Options;
}

type Run = (invocation: Invocation) => Promise<void>;

/** All commands, with their help. `run` is called with the one that is given. */
export function createProgram(run: Run): Commander {
  const program = new Commander('npm run manage --')
    .description('Manage the clients and keys of a Tiba service.')
    .option('--json', 'print the result as JSON, in one line')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand('help [command]', 'explain a command')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('Nothing was done. Run the command with --help for what it takes.')
    .addHelpText('after', ABOUT)
    .exitOverride();
  const groups = new Map<string, Commander>();
  for (const [name, command] of Object.entries(COMMANDS)) {
    const [noun = '', verb] = name.split(' ');
    if (verb === undefined) {
      addCommand(program, name, command, run);
      continue;
    }
    const group = groups.get(noun) ?? program.command(noun).description(GROUPS[noun] ?? '');
    groups.set(noun, group);
    addCommand(group, name, command, run);
  }
  return program;
}

function addCommand(parent: Commander, name: string, command: Command, run: Run): void {
  const { summary, description } = command;
  const names = optionsOf(command);
  const takesClient = name.startsWith('client ') && name !== 'client list';
  const [last = ''] = name.split(' ').slice(-1);
  const added = parent
    .command(takesClient ? `${last} <id>` : last)
    .summary(summary)
    .description(description === undefined ? sentence(summary) : `${sentence(summary)} ${description}`)
    .action(() =>
      run({ name, command, id: takesClient ? (added.args[0] ?? '') : '', options: valuesOf(added, names) }),
    );
  // An ignored argument would be dangerous: the operator could believe that a client is disabled when it is not.
  added.allowExcessArguments(false);
  for (const option of names) added.addOption(optionOf(option));
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function optionOf(name: keyof Options): Option {
  const [value, description] = OPTIONS[name];
  return new Option(value === '' ? `--${name}` : `--${name} <${value}>`, description);
}

/** By their names on the command line. */
const valuesOf = (command: Commander, names: readonly (keyof Options)[]): Options =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = command.getOptionValue(optionOf(name).attributeName());
      if (value === true) return [[name, 'yes']];
      // With them a record could display another reason, or name, than the one that is stored.
      return typeof value === 'string' ? [[name, withoutBidiControls(value)]] : [];
    }),
  );

async function run(invocation: Invocation): Promise<CommandResult> {
  const settings = readSettings('manage');
  const postgres = await connectToPostgres(settings, (line) => process.stderr.write(`${line}\n`));
  const { log } = createLog(STDERR, 'error');
  const options = { connection: postgres.connection, connectionsMax: 1, log };
  const probed = openDatabase(options);
  let database = probed;
  try {
    await requireSchema(probed).catch((error: unknown) => {
      throw error instanceof DatabaseUnavailable ? unusable(error) : error;
    });
    requireApproval(invocation, settings);
    requireReason(invocation);
    if (await isDistributed(probed)) database = openDatabase({ ...options, distributed: true });
    return await runRecorded(database, invocation, settings);
  } catch (error) {
    throw error instanceof DatabaseUnavailable
      ? unavailable(error, invocation.command)
      : adviseOnArchive(error, settings);
  } finally {
    if (database !== probed) await database.close();
    await probed.close();
    await postgres.stop();
  }
}

const optionsOf = ({ options, readOnly, recordsItself, fourEyes }: Command): readonly (keyof Options)[] => [
  ...options,
  ...(readOnly === true || recordsItself === true ? [] : (['reason'] as const)),
  ...(fourEyes === undefined ? [] : (['without-approval'] as const)),
];

/** Who runs a command could change rows without it: this keeps people from doing so by mistake, and is recorded. */
function requireApproval({ command, options }: Invocation, { fourEyes }: Settings): void {
  const kind = command.fourEyes?.(options).find((each) => fourEyes.includes(each));
  if (kind === undefined || options['without-approval'] !== undefined) return;
  throw new UsageError(
    `Nothing was done: TIBA_FOUR_EYES has ${kind}, so a person proposes this change over the operator API, and ` +
      'another one approves it. If it cannot wait, say why with --without-approval "…", which is recorded',
  );
}

/** In a container, the user may have a number and no name: reading it then fails. */
export function currentActor(readUser: () => { readonly username: string } = userInfo): string {
  try {
    return `user:${readUser().username}`;
  } catch {
    return `uid:${process.getuid?.() ?? 'unknown'}`;
  }
}

function requireReason({ command, options }: Invocation): void {
  if (command.needsReason === true && options.reason === undefined)
    throw new UsageError('Nothing was done: say why with --reason "…", which is recorded');
}

/** A change and its record are in one database transaction. A command that changed nothing leaves no record. */
function runRecorded(
  database: Database,
  { name, command, id, options }: Invocation,
  settings: Settings,
): Promise<CommandResult> {
  const actor = { actor: currentActor(), origin: hostname() };
  const context = { actor, print: (line: string) => void process.stderr.write(`${line}\n`) };
  if (command.readOnly === true || command.recordsItself === true) {
    return command.run(database, id, options, settings, context);
  }
  const work = async (inside: Database): Promise<Recorded<CommandResult>> => {
    await lockManagedState(inside, id);
    const before = await findManagedState(inside, id);
    const result = await command.run(inside, id, options, settings, context);
    const after = await findManagedState(inside, id);
    const change = result.change ?? (before === after ? null : { subjectId: null, before, after });
    const clientId = id === '' ? null : id;
    const withoutApproval = options['without-approval'];
    const record = {
      action: withoutApproval === undefined ? name : `${name} (without approval)`,
      clientId,
      reason: withoutApproval ?? options.reason ?? null,
    };
    return { result, record: change === null ? null : { ...record, ...change } };
  };
  return recordingAction(database, actor, work, command.timeoutMs);
}

/** The connection may have been lost after a change was committed, so the message cannot say that it failed. */
function unavailable(error: DatabaseUnavailable, { readOnly, recordsItself }: Command): StartError {
  const reason = error.cause instanceof Error ? error.cause.message : String(error.cause);
  let advice = 'check with client list whether the change was made';
  if (readOnly === true) advice = 'repeat the command';
  if (recordsItself === true) advice = 'repeat the command; it goes on';
  return new StartError(`The database is unavailable (${reason}): when it is available again, ${advice}`, {
    cause: error,
  });
}
