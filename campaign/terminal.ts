import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionalCommandIsMissing } from '../test/support/required-command.ts';
import { startSandbox } from '../test/support/sandbox.ts';
import type { Part } from './part.ts';
import { payrollCsv } from './terminal/payroll.ts';
import { type Answers, openTerminal, type Terminal } from './terminal/tmux.ts';

const MAIN = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url));
const pageOf = (name: string): string => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
/** What the pages show, each with what is before it. */
const SESSION = /(## A session\n[^]*?```\n)[^]*?(```\n)/;
const CHECK_FILE = /(```text\n)\$ tiba check-file [^]*?(```\n)/;
const PROGRESS = /(the last line is a bar:\n\n```text\n)[^]*?(```\n)/;

const ROWS = 5_000;
/** Ctrl-C comes when so much is done. */
const INTERRUPTED_AT = / 1\d % /;

interface Step {
  readonly command: string;
  readonly answers?: Answers;
  /** What happens before the command, and is not shown. */
  readonly before?: readonly string[];
}

const stepsOf = (url: string, clientId: string, secret: string): readonly Step[] => [
  {
    command: 'tiba login',
    answers: [
      ['Address of the service', url],
      ['Client ID', clientId],
      ['Client secret', secret],
    ],
  },
  { command: 'tiba check BCA 1234567890 --name "Kartika Prasetyo"' },
  { command: 'tiba status INV/2026/002; echo "exit code $?"' },
  { command: 'tiba list --limit 3' },
  {
    before: ['tiba sandbox disburse --reference my-first > /dev/null'],
    command: 'tiba status my-first --wait && echo paid',
  },
  { command: 'timeout -s INT 5 tiba listen' },
  {
    before: ['tiba sandbox disburse --reference while-away > /dev/null', 'tiba status while-away --wait > /dev/null'],
    command: 'timeout -s INT 5 tiba listen',
  },
  { command: 'tiba doctor' },
];

/**
 * Writes the sessions of docs/cli.md and docs/check-file.md: a terminal of tmux runs their commands against a sandbox,
 * and the pages get what the terminal shows. Needs tmux; `--seconds` does not apply.
 */
export const terminal: Part = async ({ seed, print }) => {
  const missing = optionalCommandIsMissing('tmux');
  if (missing !== false) throw new Error(missing);
  await using closers = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-terminal-'));
  closers.defer(() => rm(folder, { recursive: true, force: true }));
  const dataDirectory = path.join(folder, '.tiba');
  const sandbox = await startSandbox({ dataDirectory });
  closers.defer(async () => void (await sandbox.stop()));
  const { base_url: url, clients } = sandbox.description;
  const [{ client_id: clientId, client_secret: secret }] = clients;

  const home = path.join(folder, 'home');
  await writeProgram(path.join(folder, 'bin'));
  const PATH = [path.join(folder, 'bin'), path.dirname(process.execPath), process.env['PATH']].join(path.delimiter);
  const environment = { PATH, HOME: home, TZ: 'Asia/Jakarta', TIBA_DATA_DIR: dataDirectory };
  await mkdir(home);
  const shown = await openTerminal(folder, environment);
  closers.defer(() => shown.close());
  const hidden = await openTerminal(home, environment);
  closers.defer(() => hidden.close());
  for (const { command, answers, before = [] } of stepsOf(url, clientId, secret)) {
    print(command);
    for (const each of before) await hidden.run(each);
    await shown.run(command, answers);
  }
  const session = (await shown.screen()).replaceAll(home, '/home/dewi');
  print(`tiba check-file, ${ROWS} rows`);
  const checking = await checkFile(home, environment, closers);
  const written = [
    await writeBlock('cli.md', SESSION, session),
    await writeBlock('check-file.md', CHECK_FILE, checking.session),
    await writeBlock('check-file.md', PROGRESS, `${checking.progress}\n`),
  ];
  const all = session + checking.session;
  const hasSecret = all.includes(secret) || all.includes(folder);
  return {
    findings: [
      ...(hasSecret ? [{ what: 'a session shows the secret or a path of this machine', seed }] : []),
      ...(written.every(Boolean) ? [] : [{ what: 'a page has no block for its session', seed }]),
    ],
    figures: { 'lines of the sessions': all.split('\n').length },
  };
};

/** A file is checked, stopped by Ctrl-C, and checked to its end. */
async function checkFile(
  home: string,
  environment: Readonly<Record<string, string>>,
  closers: AsyncDisposableStack,
): Promise<{ readonly session: string; readonly progress: string }> {
  // A terminal of its own: a server of tmux has its socket in the folder where it begins.
  const folder = path.join(home, 'payroll');
  await mkdir(folder);
  await writeFile(path.join(folder, 'payroll.csv'), payrollCsv(ROWS));
  const checking: Terminal = await openTerminal(folder, environment);
  closers.defer(() => checking.close());
  const command = 'tiba check-file payroll.csv -o checked.csv';
  const progress = await checking.runLong(command, INTERRUPTED_AT);
  await checking.runLong(command);
  return { session: await checking.screen(), progress };
}

/** Puts what a terminal has shown into its block of a page; false when there is no such block. */
async function writeBlock(page: string, block: RegExp, text: string): Promise<boolean> {
  const before = await readFile(pageOf(page), 'utf8');
  await writeFile(
    pageOf(page),
    before.replace(block, (_all, head: string, end: string) => head + text + end),
  );
  return block.test(before);
}

/** A program `tiba`, as an installed one is found. */
async function writeProgram(folder: string): Promise<void> {
  await mkdir(folder);
  const file = path.join(folder, 'tiba');
  await writeFile(file, `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
  await chmod(file, 0o755);
}
