import type { Command } from 'commander';
import { profileNamed, readProfiles, writeProfiles } from '../configuration/profiles.ts';
import { CommandError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session, Start } from '../session.ts';
import { examples } from './examples.ts';

export function addLogout(program: Command, start: Start): void {
  program
    .command('logout')
    .summary('delete a stored login')
    .description(
      'Delete the current login, or that of --profile, with its secret. The secret stays valid at the service.',
    )
    .addHelpText('after', examples(['tiba logout --profile test', 'Deletes the login that is named test.']))
    .action((_options: unknown, command: Command) => start(command, logout));
}

function logout({ output, environment, profileName }: Session): ExitCode {
  const { current, profiles } = readProfiles(environment);
  const name = profileName ?? environment.profile ?? current;
  if (name === null) throw new CommandError('notLoggedIn', 'you are not logged in: there is nothing to delete');
  profileNamed(profiles, name);
  const rest = Object.fromEntries(Object.entries(profiles).filter(([each]) => each !== name));
  const next = current === name ? (Object.keys(rest)[0] ?? null) : current;
  writeProfiles(environment, { current: next, profiles: rest });
  output.result({ deleted: name, current: next }, () =>
    next === null ? `The login ${name} is deleted.` : `The login ${name} is deleted. The current one is ${next}.`,
  );
  return EXIT.ok;
}
