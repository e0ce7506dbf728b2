import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { CommandError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { localTime } from '../output/format.ts';
import { plain } from '../output/style.ts';
import type { Session } from '../session.ts';
import { answerOf } from './answers.ts';
import { createBankDirectory } from './bank-directory.ts';
import { checkAccounts, type Results } from './check-accounts.ts';
import { countOf } from './counted.ts';
import { describeFaults, describeFile, describeSummary, exitCodeOf } from './describe.ts';
import { type Columns, findColumns, type GivenColumns } from './find-columns.ts';
import { divideAccounts, UPLOAD_LIMITS } from './plan.ts';
import { createProgress } from './progress.ts';
import { type ReadFile, type ReadOptions, readAccountFile } from './read-file.ts';
import { type RowsToCheck, readRows } from './read-rows.ts';
import { removeLeftovers, replaceFile } from './replace-file.ts';
import { resultChunks } from './result-file.ts';
import { findRun, newRun, type RunState, removeRun, saveRun, sha256, stateFileOf } from './run-state.ts';
import { summarize } from './summary.ts';
import { UnusableFile } from './table.ts';

export interface CheckFileRequest extends ReadOptions {
  /** `-` is standard input. */
  readonly input: string;
  readonly output: string;
  readonly columns: GivenColumns;
  /** The bank of all rows; null when a column has it. */
  readonly bank: string | null;
  readonly restoresZeros: boolean;
  /** Checks nothing while a row has a fault. */
  readonly isStrict: boolean;
  readonly isDryRun: boolean;
  /** Forgets an unfinished run. */
  readonly startsOver: boolean;
  /** Replaces the results of an earlier run. */
  readonly overwrites: boolean;
}

/** `tiba check-file`. The results appear as a whole or not at all; a run that was interrupted goes on. */
export async function checkFile(session: Session, request: CheckFileRequest): Promise<ExitCode> {
  const { output } = session;
  const outputFile = path.resolve(request.output);
  const stateFile = stateFileOf(outputFile);
  await prepareOutput(request, { outputFile, stateFile });
  const bytes = await readInput(session, request.input);
  const { file, columns } = await usable(() => read(bytes, request));
  output.note(describeFile(file, columns));

  const { client, login } = await session.connect();
  const { banks } = await client.banks.list({ signal: session.signal });
  const directory = createBankDirectory(banks);
  const rows = readRows(file.table, { columns, directory, bank: request.bank, restoresZeros: request.restoresZeros });
  const identity = {
    service: login.profile.url,
    client_id: login.profile.client_id,
    input_sha256: sha256(bytes),
    accounts_sha256: sha256(JSON.stringify(rows.accounts)),
  };
  const earlier = request.isDryRun || request.startsOver ? null : await findRun(stateFile, identity);
  if (earlier === null) for (const line of describeFaults(rows)) output.note(plain(line));
  const refusal = earlier === null ? refusalOf(rows, request) : null;
  if (refusal !== null) return refusal;

  const run = earlier ?? newRun(identity, divideAccounts(rows.accounts, UPLOAD_LIMITS));
  // Until here, an unfinished run that --start-over forgets can still be continued.
  if (earlier === null) await saveRun(stateFile, run);
  else output.note(`going on with the run of ${localTime(earlier.started_at)}`);
  const results = await resultsOf(session, { client, run, rows, stateFile, command: request });

  const answer = (row: RowsToCheck['rows'][number]) => answerOf(row, results);
  const hasByteOrderMark = file.format === 'xlsx' || (file.format === 'csv' && !isPlainUtf8(file));
  await replaceFile(
    outputFile,
    resultChunks({ table: file.table, rows: rows.rows, answerOf: answer, hasByteOrderMark }),
  );
  await removeRun(stateFile);
  const summary = summarize(rows, answer);
  const elapsedMs = Date.now() - Date.parse(run.started_at);
  const document = { output: outputFile, seconds: elapsedMs / 1_000, resumed: earlier !== null, ...summary };
  output.result(document, () => describeSummary({ summary, outputFile: request.output, elapsedMs }, output));
  return exitCodeOf(summary);
}

/** @throws CommandError when there are results that would be lost */
async function prepareOutput(
  { input, output, overwrites, startsOver, isDryRun }: CheckFileRequest,
  { outputFile, stateFile }: { readonly outputFile: string; readonly stateFile: string },
): Promise<void> {
  if (!existsSync(path.dirname(outputFile)))
    throw new CommandError('usage', `the folder of ${output} does not exist`, {
      advice: 'Create it, or choose another.',
    });
  if (input !== '-' && (await isSameFile(input, outputFile)))
    throw new CommandError('usage', `${output} is the file to check: its results would replace it`, {
      advice: 'Choose another file for the results.',
    });
  if (isDryRun) return;
  for (const file of [outputFile, stateFile]) await removeLeftovers(file);
  // A run that has written its results and was killed before it could say so has both files.
  const isUnfinished = existsSync(stateFile) && !startsOver;
  if (existsSync(outputFile) && !isUnfinished && !overwrites)
    throw new CommandError('usage', `${output} exists`, {
      advice: 'Choose another file, or --overwrite it: that checks all accounts again.',
    });
}

/** By whatever names and links: the results would take the place of the list of payees. */
async function isSameFile(one: string, other: string): Promise<boolean> {
  const identify = (file: string) => stat(file, { bigint: true }).catch(() => null);
  const [first, second] = await Promise.all([identify(one), identify(other)]);
  return first !== null && first.dev === second?.dev && first.ino === second.ino;
}

async function readInput({ stdin }: Session, input: string): Promise<Buffer> {
  if (input === '-') return Buffer.concat(await stdin.toArray());
  try {
    return await readFile(input);
  } catch (cause) {
    throw new CommandError('usage', `${input} cannot be read`, {
      advice: 'Check the path and its permissions.',
      cause,
    });
  }
}

async function read(
  bytes: Buffer,
  request: CheckFileRequest,
): Promise<{ readonly file: ReadFile; readonly columns: Columns }> {
  const file = await readAccountFile(bytes, request);
  return { file, columns: findColumns(file.table.header, request.columns, request.bank !== null) };
}

async function usable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new CommandError('usage', plain(error.message), { cause: error });
  }
}

/** The exit code when nothing is to be checked now; null when the check goes on. */
function refusalOf({ rows, accounts }: RowsToCheck, { isDryRun, isStrict }: CheckFileRequest): ExitCode | null {
  const faulty = rows.filter(({ rowFault }) => rowFault !== null).length;
  if (isDryRun) return faulty > 0 ? EXIT.no : EXIT.ok;
  if (isStrict && faulty > 0)
    throw new CommandError('no', `${countOf(faulty, 'row')} cannot be checked, so nothing was checked`, {
      advice: 'Correct them, or leave out --strict.',
    });
  if (accounts.length === 0 && faulty === 0)
    throw new CommandError('usage', 'the file has no rows below its header row');
  return null;
}

interface CheckContext {
  readonly client: Parameters<typeof checkAccounts>[1]['client'];
  readonly run: RunState;
  readonly rows: RowsToCheck;
  readonly stateFile: string;
  readonly command: CheckFileRequest;
}

async function resultsOf({ output, signal }: Session, context: CheckContext): Promise<Results> {
  const { client, run, rows, stateFile } = context;
  const progress = createProgress(rows.accounts.length, output);
  try {
    return await checkAccounts(run, {
      client,
      accounts: rows.accounts,
      stateFile,
      signal,
      note: (message) => output.note(plain(message)),
      onProgress: progress.onProgress,
    });
  } catch (error) {
    progress.end();
    if (signal.aborted)
      output.note('stopped; the service goes on. Repeat the command to continue: no bank is asked twice');
    throw error;
  } finally {
    progress.end();
  }
}

const isPlainUtf8 = ({ decoded }: ReadFile): boolean => decoded?.encoding === 'utf-8' && !decoded.hasByteOrderMark;
