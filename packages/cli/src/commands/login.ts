import type { Command } from 'commander';
import {
  DEFAULT_PROFILE,
  environmentComesFirst,
  type Profile,
  profilesFile,
  saveProfile,
} from '../configuration/profiles.ts';
import { CommandError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { plain } from '../output/style.ts';
import type { Session, Start } from '../session.ts';
import { onlyLineOf } from '../text-file.ts';
import { examples } from './examples.ts';

interface LoginOptions {
  readonly url?: string;
  readonly clientId?: string;
  readonly secretStdin?: boolean;
  readonly allowPlainHttp?: boolean;
}

export function addLogin(program: Command, start: Start): void {
  program
    .command('login')
    .summary('store a login')
    .description(
      'Store the address of a service with a client ID and its secret, after a login with them has succeeded. ' +
        'Asks for what is not given. --profile names the login, so that there can be several.',
    )
    .option('--url <url>', 'the address of the service')
    .option('--client-id <id>', 'the client ID that its operator has issued')
    .option('--secret-stdin', 'read the secret from standard input: as an option, other users could see it')
    .option('--allow-plain-http', 'permit http to another machine: only where the network itself is encrypted')
    .addHelpText(
      'after',
      examples(
        ['tiba login', 'Asks for the three.'],
        [
          'tiba login --profile test --url https://tiba.example.com --client-id shop --secret-stdin < secret.txt',
          'Without questions.',
        ],
      ),
    )
    .action((options: LoginOptions, command: Command) => start(command, (session) => login(session, options)));
}

/** A profile's name is part of file names. */
const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

async function login(session: Session, options: LoginOptions): Promise<ExitCode> {
  const { output, environment, signal } = session;
  const name = session.profileName ?? environment.profile ?? DEFAULT_PROFILE;
  if (!PROFILE_NAME.test(name)) {
    throw new CommandError('usage', `${plain(name)} is no name for a profile`, {
      advice: 'Use letters, digits, dots, dashes and underscores.',
    });
  }
  const profile = await askForProfile(session, options);
  const { openConnection } = await import('../connection.ts');
  // Refuses an address that is none, before the secret is sent there.
  await openConnection({ name, source: 'profile', profile });
  const { fetchAccessToken } = await import('../access-token.ts');
  const { scopes } = await fetchAccessToken(profile, signal);
  saveProfile(environment, name, profile);
  const stored = { profile: name, url: profile.url, client_id: profile.client_id, scopes };
  output.result(stored, () =>
    [
      `Logged in to ${plain(profile.url)} as ${plain(profile.client_id)}: this is the profile ${name} now.`,
      ...(scopes === null ? [] : [`Scopes: ${scopes.map(plain).join(', ')}`]),
      `Stored in ${profilesFile(environment)}, which only you can read.`,
    ].join('\n'),
  );
  const warning = environmentComesFirst(environment, name);
  if (warning !== null) output.note(`warning: ${warning}`);
  return EXIT.ok;
}

async function askForProfile({ stdin, signal }: Session, options: LoginOptions): Promise<Profile> {
  const { url, clientId, secretStdin, allowPlainHttp } = options;
  const secret = secretStdin === true ? await readSecret(stdin) : undefined;
  const given = { url, clientId, secret };
  const isComplete = url !== undefined && clientId !== undefined && secret !== undefined;
  if (!isComplete && (secretStdin === true || !stdin.isTTY)) {
    throw new CommandError('usage', 'without a terminal, all of the login must be given', {
      advice: 'Give --url, --client-id and --secret-stdin.',
    });
  }
  const answers = isComplete
    ? { url, clientId, secret }
    : await (await import('../login-questions.ts')).askForLogin(given, signal);
  return {
    url: answers.url.replace(/\/+$/, ''),
    client_id: answers.clientId,
    client_secret: answers.secret,
    ...(allowPlainHttp === true ? { allow_plain_http: true } : {}),
  };
}

async function readSecret(stdin: NodeJS.ReadStream): Promise<string> {
  let text = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin) text += String(chunk);
  const secret = onlyLineOf(text);
  if (secret !== '') return secret;
  throw new CommandError('usage', 'standard input has no secret', { advice: 'Pipe the secret into the command.' });
}
