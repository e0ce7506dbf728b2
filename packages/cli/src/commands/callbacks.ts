import { type Command, Option } from 'commander';
import type { EventType } from '../../../client/src/index.ts';
import {
  addEndpoint,
  changeEndpoint,
  listDeliveries,
  listEndpoints,
  replay,
  rotateSecret,
  showDelivery,
  testEndpoint,
} from '../callbacks/operations.ts';
import { CommandError } from '../errors.ts';
import type { Start } from '../session.ts';
import { time, wholeNumber } from './arguments.ts';
import { examples } from './examples.ts';

const LIMIT = 50;
const STATES = ['pending', 'delivered', 'exhausted'];

export function addCallbacks(program: Command, start: Start): void {
  const callbacks = program
    .command('callbacks')
    .summary('your callback endpoints, and what became of each callback')
    .description('Read and mend your callback endpoints and their deliveries.');
  addEndpointCommands(callbacks, start);
  addDeliveryCommands(callbacks, start);
  callbacks.addHelpText(
    'after',
    examples(
      ['tiba callbacks list', 'Your endpoints, and whether they are enabled.'],
      ['tiba callbacks deliveries --state exhausted', 'Callbacks that never arrived.'],
    ),
  );
}

function addEndpointCommands(callbacks: Command, start: Start): void {
  callbacks
    .command('list')
    .description('List your callback endpoints.')
    .addHelpText('after', examples(['tiba callbacks list --json', 'One document per endpoint.']))
    .action((_options: unknown, command: Command) => start(command, listEndpoints));
  callbacks
    .command('add')
    .description('Register an endpoint. Its secret is printed this once.')
    .argument('<url>', 'where callbacks are sent: https')
    .option('--kinds <kinds>', 'kinds of events, separated by commas; otherwise those of disbursements')
    .addHelpText('after', examples(['tiba callbacks add https://shop.example.com/tiba', 'Prints the secret.']))
    .action((url: string, options: { readonly kinds?: string }, command: Command) =>
      start(command, (session) => addEndpoint(session, url, options.kinds?.split(',') as EventType[] | undefined)),
    );
  for (const [verb, disabled] of [
    ['enable', false],
    ['disable', true],
  ] as const) {
    callbacks
      .command(verb)
      .description(
        disabled ? 'Send nothing to an endpoint until it is enabled.' : 'Send callbacks to an endpoint again.',
      )
      .argument('<endpoint>', 'its ID')
      .addHelpText('after', examples([`tiba callbacks ${verb} ep_1`, 'Then: tiba callbacks list']))
      .action((id: string, _options: unknown, command: Command) =>
        start(command, (session) => changeEndpoint(session, id, disabled)),
      );
  }
  callbacks
    .command('rotate-secret')
    .description('Get a new secret for an endpoint. For 24 hours callbacks are signed with the former one too.')
    .argument('<endpoint>', 'its ID')
    .addHelpText('after', examples(['tiba callbacks rotate-secret ep_1', 'Prints the new secret, this once.']))
    .action((id: string, _options: unknown, command: Command) =>
      start(command, (session) => rotateSecret(session, id)),
    );
  callbacks
    .command('test')
    .description('Send one callback of type endpoint.test to an endpoint now. Ends with 3 when it is not accepted.')
    .argument('<endpoint>', 'its ID')
    .addHelpText('after', examples(['tiba callbacks test ep_1', 'What the receiver has answered.']))
    .action((id: string, _options: unknown, command: Command) =>
      start(command, (session) => testEndpoint(session, id)),
    );
}

interface ReplayOptions {
  readonly endpoint?: string;
  readonly from?: string;
  readonly to?: string;
  readonly state?: 'pending' | 'delivered' | 'exhausted' | 'missing';
}

function addDeliveryCommands(callbacks: Command, start: Start): void {
  callbacks
    .command('deliveries')
    .description('List deliveries, those of the latest events first.')
    .option('--endpoint <id>', 'only to this endpoint')
    .addOption(new Option('--state <state>', 'only in this state').choices(STATES))
    .addOption(new Option('--limit <number>', 'print as many at most').argParser(wholeNumber(1)).default(LIMIT))
    .option('--all', 'print all of them, page after page')
    .addHelpText('after', examples(['tiba callbacks deliveries --state exhausted', 'What never arrived.']))
    .action((options: Parameters<typeof listDeliveries>[1], command: Command) =>
      start(command, (session) => listDeliveries(session, options)),
    );
  callbacks
    .command('delivery')
    .description('Print one delivery with each of its attempts.')
    .argument('<delivery>', 'its ID')
    .addHelpText('after', examples(['tiba callbacks delivery ep_1-42', 'What the receiver has answered, and when.']))
    .action((id: string, _options: unknown, command: Command) =>
      start(command, (session) => showDelivery(session, id)),
    );
  callbacks
    .command('replay')
    .description('Send one callback again, or all of a time range.')
    .argument('[delivery]', 'the ID of one delivery')
    .option('--endpoint <id>', 'instead: to this endpoint, the events of a time range')
    .option('--from <time>', 'events from this time on: a day, a time with its zone, or an age such as 2h', time)
    .option('--to <time>', 'events before this time; now unless given', time)
    .addOption(new Option('--state <state>', 'only those; missing: never sent').choices([...STATES, 'missing']))
    .addHelpText(
      'after',
      examples(
        ['tiba callbacks replay ep_1-42', 'One callback again.'],
        ['tiba callbacks replay --endpoint ep_1 --from 6h --state missing', 'What was not sent while it was disabled.'],
      ),
    )
    .action((id: string | undefined, options: ReplayOptions, command: Command) =>
      start(command, (session) => replay(session, whatToReplay(id, options))),
    );
}

/** @throws CommandError when it is neither one delivery nor a range */
function whatToReplay(
  id: string | undefined,
  { endpoint, from, to, state }: ReplayOptions,
): Parameters<typeof replay>[1] {
  const isRange = endpoint !== undefined && from !== undefined;
  if (id !== undefined && endpoint === undefined && from === undefined) return { deliveryId: id };
  if (id === undefined && isRange) {
    return { endpoint_id: endpoint, from, to: to ?? new Date().toISOString(), state };
  }
  throw new CommandError('usage', 'give the ID of one delivery, or --endpoint and --from', {
    advice: 'See `tiba callbacks replay --help`.',
  });
}
