import { type Command, Option } from 'commander';
import { callbackSecret } from '../configuration/callback-secret.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { ListenOptions } from '../listen/listen.ts';
import type { Session, Start } from '../session.ts';
import { seconds, wholeNumber } from './arguments.ts';
import { examples } from './examples.ts';

interface Options extends ListenOptions {
  readonly printSecret?: boolean;
}

export function addListen(program: Command, start: Start): void {
  program
    .command('listen')
    .summary('print events as they happen, and forward them to your machine')
    .description(
      'Print each event and, with --forward-to, send it to your receiver, signed like a callback. It remembers where ' +
        'it was: what happens while it is stopped, or while the machine sleeps, comes when it runs again, in order.',
    )
    .option('--forward-to <url>', 'your receiver, such as http://localhost:9000/tiba')
    .option('--no-retry', 'send each event once; otherwise until your receiver answers with a 2xx')
    .addOption(
      new Option('--after <sequence>', 'begin after this event').argParser(wholeNumber(0)).conflicts('fromStart'),
    )
    .addOption(
      new Option('--interval <seconds>', 'how long to wait before looking for new events')
        .argParser(seconds)
        .default(2),
    )
    .option('--from-start', 'begin with the first event that the service has')
    .option('--print-secret', 'print the secret that signs what is forwarded, and end')
    .addHelpText(
      'after',
      examples(
        ['tiba listen', 'Prints what happens from now on, or since it was stopped.'],
        ['tiba listen --forward-to http://localhost:9000/tiba', 'Callbacks on your machine, without a public address.'],
        ['export TIBA_CALLBACK_SECRET=$(tiba listen --print-secret)', 'The secret for your receiver.'],
      ),
    )
    .action((options: Options, command: Command) =>
      start(command, async (session) =>
        options.printSecret === true
          ? printSecret(session)
          : (await import('../listen/listen.ts')).listen(session, options),
      ),
    );
}

function printSecret({ output, environment }: Session): ExitCode {
  const secret = callbackSecret(environment);
  output.result({ secret }, () => secret);
  return EXIT.ok;
}
