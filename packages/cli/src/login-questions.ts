import type { Key } from 'node:readline';
import { intro, password, text } from '@clack/prompts';
import { CommandError } from './errors.ts';

export interface LoginAnswers {
  readonly url: string;
  readonly clientId: string;
  readonly secret: string;
}

type Given = { readonly [Name in keyof LoginAnswers]: string | undefined };

/** Asks on the terminal for what is not given. The questions go to standard error: standard output has the result. */
export async function askForLogin(given: Given, signal: AbortSignal): Promise<LoginAnswers> {
  const inputEnd = new AbortController();
  // After Ctrl-D the terminal is not read any more, and a question would wait without end.
  const onKey = (_text: unknown, key: Key): void => {
    if (key.ctrl && key.name === 'd') inputEnd.abort();
  };
  process.stdin.on('keypress', onKey);
  try {
    return await ask(given, AbortSignal.any([signal, inputEnd.signal]));
  } finally {
    process.stdin.off('keypress', onKey);
  }
}

async function ask(given: Given, signal: AbortSignal): Promise<LoginAnswers> {
  const common = { output: process.stderr, signal };
  const validate = (value: string | undefined): string | undefined => (value ? undefined : 'It must not be empty.');
  intro('Log in to Tiba', { output: process.stderr });
  const url =
    given.url ??
    answered(await text({ ...common, message: 'Address of the service', placeholder: 'https://…', validate }));
  const clientId = given.clientId ?? answered(await text({ ...common, message: 'Client ID', validate }));
  const secret = given.secret ?? answered(await password({ ...common, message: 'Client secret', validate }));
  return { url, clientId, secret };
}

function answered(answer: string | symbol): string {
  if (typeof answer === 'symbol') throw new CommandError('interrupted', 'the login was cancelled; nothing was stored');
  return answer;
}
