import { type Command, Option } from 'commander';
import { environmentComesFirst, profileNamed, readProfiles, writeProfiles } from '../configuration/profiles.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session, Start } from '../session.ts';
import { examples } from './examples.ts';

export function addProfiles(program: Command, start: Start): void {
  program
    .command('profiles')
    .summary('list the stored logins, choose one')
    .description('List the stored logins. Secrets are not printed.')
    .addOption(new Option('--use <name>', 'make this one the current login'))
    .addHelpText(
      'after',
      examples(['tiba profiles', 'The current one has a star.'], ['tiba profiles --use test', 'Changes it.']),
    )
    .action((options: { readonly use?: string }, command: Command) =>
      start(command, (session) => listProfiles(session, options.use ?? null)),
    );
}

interface Row {
  readonly profile: string;
  readonly current: boolean;
  readonly url: string;
  readonly client_id: string;
}

function listProfiles({ output, environment }: Session, use: string | null): ExitCode {
  const stored = readProfiles(environment);
  if (use !== null) profileNamed(stored.profiles, use);
  const current = use ?? stored.current;
  if (current !== stored.current) writeProfiles(environment, { ...stored, current });
  const rows = Object.entries(stored.profiles).map(
    ([profile, { url, client_id: clientId }]): Row => ({
      profile,
      current: profile === current,
      url,
      client_id: clientId,
    }),
  );
  const table = output.table<Row>([
    { title: '', cell: (row) => (row.current ? '*' : '') },
    { title: 'PROFILE', cell: (row) => row.profile },
    { title: 'SERVICE', cell: (row) => row.url },
    { title: 'CLIENT ID', cell: (row) => row.client_id },
  ]);
  if (rows.length > 0) output.rows(table, rows);
  else output.note('there is no stored login: run tiba login');
  const warning = environmentComesFirst(environment, current ?? 'NAME');
  if (warning !== null) output.note(`warning: ${warning}`);
  return EXIT.ok;
}
