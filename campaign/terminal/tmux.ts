import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../test/support/eventually.ts';

const run = promisify(execFile);
const COLUMNS = 120;
/** Enough for a session: nothing scrolls away. */
const ROWS = 400;
const ENDED_WITHIN_MS = 60_000;
/** A command that is to be interrupted may run for minutes. */
const LONG_WITHIN_MS = 600_000;
const PROMPT = '$';
/** A question and where it is answered. */
const LAST_LINES = 3;

/** A terminal of tmux, with a bash in it. */
export interface Terminal {
  /** Types a command, answers its questions, and resolves when it has ended. */
  run(command: string, answers?: Answers): Promise<void>;
  /** The same for one that may run for minutes. With `at` it gets Ctrl-C when its last line is so; resolves with that. */
  runLong(command: string, at?: RegExp): Promise<string>;
  /** The screen up to the prompt that waits for the next command. */
  screen(): Promise<string>;
  close(): Promise<void>;
}

/** What is typed at the questions of a command, each after the text that asks for it. */
export type Answers = readonly (readonly [question: string, answer: string])[];

/** `folder` is for tmux's own files, and where the bash begins. */
export async function openTerminal(folder: string, environment: Readonly<Record<string, string>>): Promise<Terminal> {
  const tmux = async (...args: string[]): Promise<string> =>
    (await run('tmux', ['-S', path.join(folder, 'tmux'), '-f', '/dev/null', ...args])).stdout;
  const lines = async (): Promise<string[]> =>
    (await tmux('capture-pane', '-p', '-t', 'session')).trimEnd().split('\n');
  async function type(line: string): Promise<void> {
    await tmux('send-keys', '-t', 'session', '-l', line);
    await tmux('send-keys', '-t', 'session', 'Enter');
  }
  let ended = 0;
  const untilPrompt = (what: string, withinMs = ENDED_WITHIN_MS): Promise<void> =>
    eventually(
      `${what} ends`,
      async () => {
        const shown = await lines();
        return shown.at(-1) === PROMPT && shown.filter((line) => line.startsWith(PROMPT)).length === ended + 1;
      },
      withinMs,
    );

  const size = ['-x', String(COLUMNS), '-y', String(ROWS)];
  const variables = Object.entries({ ...environment, PS1: `${PROMPT} `, TERM: 'tmux-256color', LANG: 'C.UTF-8' });
  const program = [
    'env',
    '-i',
    ...variables.map(([name, value]) => `${name}=${value}`),
    'bash',
    '--norc',
    '--noprofile',
  ];
  await tmux('new-session', '-d', '-s', 'session', ...size, '-c', folder, ...program);
  await untilPrompt('the start of bash');
  return {
    async run(command, answers = []) {
      await type(command);
      for (const [question, answer] of answers) {
        const asks = async (): Promise<boolean> => (await lines()).slice(-LAST_LINES).join('\n').includes(question);
        await eventually(`${command} asks for ${question}`, asks, ENDED_WITHIN_MS);
        await type(answer);
      }
      ended += 1;
      await untilPrompt(command);
    },
    async runLong(command, at) {
      await type(command);
      let last = '';
      if (at !== undefined) {
        const isThere = async (): Promise<boolean> => at.test((last = (await lines()).at(-1) ?? ''));
        await eventually(`${command} prints ${at}`, isThere, LONG_WITHIN_MS);
        await tmux('send-keys', '-t', 'session', 'C-c');
      }
      ended += 1;
      await untilPrompt(command, LONG_WITHIN_MS);
      return last;
    },
    screen: async () => `${(await lines()).slice(0, -1).join('\n')}\n`,
    close: async () => void (await tmux('kill-server')),
  };
}
