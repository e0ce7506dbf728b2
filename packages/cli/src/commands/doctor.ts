import type { Command } from 'commander';
import type { Start } from '../session.ts';
import { examples } from './examples.ts';

export function addDoctor(program: Command, start: Start): void {
  program
    .command('doctor')
    .summary('find out why it does not work')
    .description(
      'Check what a call needs, from the stored login to the limits that are left: each line is ok, a warning or ' +
        'failed, with what to do. Ends with 1 when a check has failed.',
    )
    .addHelpText('after', examples(['tiba doctor', 'Send its output along when you ask the operator.']))
    .action((_options: unknown, command: Command) =>
      start(command, async (session) => (await import('../doctor/doctor.ts')).examine(session)),
    );
}
