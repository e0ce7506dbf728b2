import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionalCommandIsMissing } from '../test/support/required-command.ts';
import { startSandbox } from '../test/support/sandbox.ts';
import type { Part } from './part.ts';
import { type Answers, openTerminal } from './terminal/tmux.ts';

const MAIN = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url));
const PAGE = fileURLToPath(new URL('../docs/cli.md', import.meta.url));
/** The block after the heading. */
const SESSION = /(## A session\n[^]*?```\n)[^]*?(```\n)/;

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
 * Writes the session of docs/cli.md: a terminal of tmux runs its commands against a sandbox, and the page gets what the
 * terminal shows. Needs tmux; `--seconds` does not apply.
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
  const page = await readFile(PAGE, 'utf8');
  const written = page.replace(SESSION, (_all, head: string, end: string) => `${head}${session}${end}`);
  await writeFile(PAGE, written);
  const hasSecret = session.includes(secret) || session.includes(folder);
  return {
    findings: [
      ...(hasSecret ? [{ what: 'the session shows the secret or a path of this machine', seed }] : []),
      ...(written.includes(session) ? [] : [{ what: 'docs/cli.md has no block for the session', seed }]),
    ],
    figures: { 'lines of the session': session.split('\n').length },
  };
};

/** A program `tiba`, as an installed one is found. */
async function writeProgram(folder: string): Promise<void> {
  await mkdir(folder);
  const file = path.join(folder, 'tiba');
  await writeFile(file, `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
  await chmod(file, 0o755);
}
