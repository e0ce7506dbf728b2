import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { optionalCommandIsMissing } from '../test/support/required-command.ts';
import { startTestService, statusUpdate } from '../test/support/service.ts';
import type { Part } from './part.ts';

const run = promisify(execFile);
const PAGE = new URL('../docs/other-languages.md', import.meta.url);
const SAMPLES = new URL('../docs/samples/other-languages/', import.meta.url);
const ENDED_WITHIN_MS = 300_000;
const SECTIONS = ['Get the description', 'Python', 'Go'] as const;

/** What the program of each language prints; the amount is one that no binary float holds. */
const HAPPY_PATH = [
  'token Bearer 900',
  'account ACTIVE KARTIKA PRASETYO',
  'status SUCCESS 9007199254740993.01',
  'list INV/2026/001',
  'error 404 TRANSACTION_NOT_FOUND',
].join('\n');

/**
 * Runs the commands of docs/other-languages.md as they stand there, in an empty folder with the sample files, against
 * the real service: clients are generated from openapi.json, compiled, and must pass the happy path. Needs Java,
 * Python and Go; `--seconds` does not apply.
 */
export const languages: Part = async ({ seed, signal, print }) => {
  for (const command of ['java', 'python3', 'go', 'curl']) {
    const missing = optionalCommandIsMissing(command);
    if (missing !== false) throw new Error(missing);
  }
  await using closers = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-languages-'));
  closers.defer(() => rm(folder, { recursive: true, force: true }));
  for (const file of await readdir(SAMPLES)) await copyFile(new URL(file, SAMPLES), path.join(folder, file));
  const service = await startTestService();
  closers.defer(() => service.close());
  const end = { status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' };
  await service.feed(statusUpdate({ ...end, amount: '9007199254740993.01', fee: '0.00' }));
  const env = {
    ...process.env,
    TIBA_URL: service.url,
    TIBA_CLIENT_ID: service.alpha.clientId,
    TIBA_CLIENT_SECRET: service.alpha.clientSecret,
  };

  const page = await readFile(PAGE, 'utf8');
  const figures: Record<string, string> = {};
  const problems: string[] = [];
  for (const section of SECTIONS) {
    const startedMs = performance.now();
    const options = { cwd: folder, env, signal, timeout: ENDED_WITHIN_MS, maxBuffer: 2 ** 26 };
    const { stdout } = await run('bash', ['-euc', commandsOf(page, section)], options);
    const isRight = section === 'Get the description' || stdout.trimEnd().endsWith(HAPPY_PATH);
    if (!isRight) problems.push(`${section}: the program printed ${stdout.slice(-2_000)}`);
    figures[section] = `${isRight ? 'works' : 'fails'}, ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`;
    print(`${section}: ${figures[section]}`);
  }
  return { findings: problems.map((what) => ({ what, seed })), figures };
};

/** The shell blocks of a section, but for the one that sets the login. */
function commandsOf(page: string, section: string): string {
  const [, text = ''] = page.split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  const blocks = [...own.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
  const commands = blocks.filter((block) => !block.startsWith('export TIBA_URL='));
  if (commands.length !== 1) throw new Error(`docs/other-languages.md: ${commands.length} blocks under ${section}`);
  return commands.join('\n');
}
