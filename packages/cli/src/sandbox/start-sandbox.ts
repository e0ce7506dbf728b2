import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { descriptionFileOf, descriptionTimeOf, findDescription } from './running-sandbox.ts';

const PROGRAM = 'apps/server/src/main.ts';
/** The Node that `npm ci` brings: it runs TypeScript, which an older one does not. */
const NODE = 'node_modules/node/bin/node';
const POLL_MS = 200;

/**
 * Starts the sandbox of the clone of Tiba's repository in which this directory is, and runs until it ends: Ctrl-C
 * reaches it too.
 * @throws CommandError outside of a clone
 */
export async function startSandbox({ output, signal }: Session, directory: string): Promise<ExitCode> {
  const clone = findClone(process.cwd()) ?? findClone(import.meta.dirname);
  if (clone === null) {
    throw new CommandError(
      'usage',
      "the sandbox is part of Tiba's repository, and this directory is in no clone of it",
      {
        advice: 'Clone it, run `npm ci` there, and repeat this command there, or `npm start`.',
      },
    );
  }
  const node = path.join(clone, NODE);
  if (!existsSync(node)) {
    throw new CommandError('usage', `${clone} is not installed`, { advice: 'Run `npm ci` there, and repeat this.' });
  }
  // One that is there may be that of a running sandbox: only the process that has the directory's lock may delete it.
  const formerTime = descriptionTimeOf(directory);
  // With --json, standard output is for the one document.
  const child = spawn(node, [path.join(clone, PROGRAM), 'sandbox'], {
    stdio: ['ignore', output.json ? 2 : 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[code: number | null]>;
  // A signal that only this program gets, such as SIGTERM, is passed on.
  signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  if (output.json) await announce({ output }, directory, formerTime, ended);
  const [code] = await ended;
  return code === 0 ? EXIT.ok : EXIT.error;
}

/** Prints where the sandbox is, once it is ready: when there is another description than the former one. */
async function announce(
  { output }: Pick<Session, 'output'>,
  directory: string,
  formerTime: number | null,
  ended: Promise<unknown>,
): Promise<void> {
  const end = ended.then(() => 'ended' as const);
  do {
    const isNew = descriptionTimeOf(directory) !== formerTime;
    const description = isNew ? await findDescription(directory) : null;
    if (description !== null) {
      const { base_url, operator_url } = description;
      output.result({ base_url, operator_url, description_file: descriptionFileOf(path.resolve(directory)) }, () => '');
      return;
    }
  } while ((await Promise.race([end, delay(POLL_MS)])) !== 'ended');
}

/** The nearest directory that is a clone, from this one upwards. */
function findClone(directory: string): string | null {
  if (existsSync(path.join(directory, PROGRAM))) return directory;
  const parent = path.dirname(directory);
  return parent === directory ? null : findClone(parent);
}
