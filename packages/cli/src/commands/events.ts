import { type Command, Option } from 'commander';
import type { Event } from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { describeEvent } from '../listen/describe-event.ts';
import { plain } from '../output/style.ts';
import type { Session, Start } from '../session.ts';
import { wholeNumber } from './arguments.ts';
import { examples } from './examples.ts';

interface EventsOptions {
  readonly after: number;
  readonly follow?: boolean;
  readonly limit: number;
  readonly all?: boolean;
}

const LIMIT = 100;

export function addEvents(program: Command, start: Start): void {
  program
    .command('events')
    .summary('what has happened?')
    .description(
      'Print your events in order: what became of disbursements, validations and banks. The number of an event is a ' +
        'cursor: go on from it with --after.',
    )
    .addOption(new Option('--after <sequence>', 'events after this one').argParser(wholeNumber(0)).default(0))
    .addOption(new Option('--limit <number>', 'print as many at most').argParser(wholeNumber(1)).default(LIMIT))
    .option('--all', 'print all that there are')
    .option('--follow', 'then wait for further ones; remembers nothing, see `tiba listen`')
    .addHelpText(
      'after',
      examples(
        ['tiba events --after 41 --all --json', 'All events after the 41st, one document per line.'],
        ['tiba events --after 41 --follow', 'These, and each further one as it happens.'],
      ),
    )
    .action((options: EventsOptions, command: Command) => start(command, (session) => events(session, options)));
}

async function events({ connect, output, signal }: Session, options: EventsOptions): Promise<ExitCode> {
  const { client } = await connect();
  const cursor = { sequence: options.after };
  const print = (event: Event): void => output.result(event, () => describeEvent(event, output));
  if (options.follow === true) {
    const onRetry = (error: Error): void => output.note(`not connected: ${plain(error.message)}; trying again`);
    for await (const event of client.events.follow(cursor, { signal, onRetry })) print(event);
  }
  const countMax = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let count = 0;
  let last = options.after;
  for await (const event of client.events.list(cursor, { signal })) {
    if (count === countMax) {
      output.note(`there are more: go on with --after ${last}, or print all with --all`, { next_after: last });
      return EXIT.ok;
    }
    print(event);
    count += 1;
    last = event.sequence;
  }
  output.note(count === 0 ? `there is no event after ${last}` : `these are all; the last one is ${last}`, {
    next_after: last,
  });
  return EXIT.ok;
}
