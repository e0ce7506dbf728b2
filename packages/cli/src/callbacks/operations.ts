import type {
  CallbackDelivery,
  CallbackEndpoint,
  DeliveryAttempt,
  DeliveryState,
  EventType,
  ReplayRequest,
} from '../../../client/src/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { block, localTime, styleOf } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';
import type { Column } from '../output/table.ts';
import type { Session } from '../session.ts';

export async function listEndpoints({ connect, output, signal }: Session): Promise<ExitCode> {
  const { client } = await connect();
  const { endpoints } = await client.callbackEndpoints.list({ signal });
  const table = output.table<CallbackEndpoint>([
    { title: 'ENDPOINT', cell: (each) => each.endpoint_id },
    { title: 'STATUS', cell: ({ status }) => status, style: ({ status }) => styleOf(status) },
    { title: 'WHY', cell: (each) => each.disabled_reason ?? '' },
    { title: 'FAILING SINCE', cell: (each) => localTime(each.failing_since) },
    { title: 'URL', cell: ({ url }) => url },
    { title: 'KINDS', cell: ({ kinds }) => kinds.join(', ') },
  ]);
  if (endpoints.length > 0) output.rows(table, endpoints);
  else output.note('you have no endpoint: register one with `tiba callbacks add URL`');
  return EXIT.ok;
}

export async function addEndpoint(
  { connect, output, signal }: Session,
  url: string,
  kinds: readonly EventType[] | undefined,
): Promise<ExitCode> {
  const { client } = await connect();
  const endpoint = await client.callbackEndpoints.register({ url, kinds }, { signal });
  output.result(endpoint, () =>
    block([
      ['endpoint', endpoint.endpoint_id],
      ['url', plain(endpoint.url)],
      ['kinds', endpoint.kinds.join(', ')],
      ['secret', shownOnce(endpoint.secret)],
    ]),
  );
  return EXIT.ok;
}

export async function changeEndpoint(
  { connect, output, signal }: Session,
  id: string,
  disabled: boolean,
): Promise<ExitCode> {
  const { client } = await connect();
  const endpoint = await client.callbackEndpoints.change(id, { disabled }, { signal });
  output.result(endpoint, () => plain(`${endpoint.endpoint_id} is ${endpoint.status}`));
  if (!disabled) {
    output.note(`what was not sent meanwhile: tiba callbacks replay --endpoint ${id} --from 24h --state missing`);
  }
  return EXIT.ok;
}

export async function rotateSecret({ connect, output, signal }: Session, id: string): Promise<ExitCode> {
  const { client } = await connect();
  const rotated = await client.callbackEndpoints.rotateSecret(id, { signal });
  output.result(rotated, () =>
    block([
      ['endpoint', rotated.endpoint_id],
      ['secret', shownOnce(rotated.secret)],
      ['until', `${localTime(rotated.former_secret_until)} callbacks are signed with the former secret too`],
    ]),
  );
  return EXIT.ok;
}

const shownOnce = (secret: string): string => `${secret} (store it: it is not shown again)`;

/** What to do, by the status of a receiver that refuses. */
const REFUSED: Readonly<Record<number, string>> = {
  401:
    'The receiver refused the signature: it has another secret (`tiba callbacks rotate-secret` makes a new one), or ' +
    'a parser changed the body.',
};

export async function testEndpoint({ connect, output, signal }: Session, id: string): Promise<ExitCode> {
  const { client } = await connect();
  const result = await client.callbackEndpoints.test(id, { signal });
  const { succeeded, http_status: status, error, answer, duration_ms: durationMs } = result;
  output.result(result, () =>
    block([
      ['result', succeeded ? output.paint('green', 'accepted') : output.paint('red', 'not accepted')],
      ['answer', status === null ? 'none' : `HTTP ${status} in ${durationMs} ms`],
      ['error', error === null ? null : plain(error)],
      ['body', answer === null ? null : plain(answer)],
      ['next', succeeded ? null : (REFUSED[status ?? 0] ?? 'The receiver must answer with a 2xx within 15 s.')],
    ]),
  );
  return succeeded ? EXIT.ok : EXIT.no;
}

interface DeliveriesOptions {
  readonly endpoint?: string;
  readonly state?: DeliveryState;
  readonly limit: number;
  readonly all?: boolean;
}

const deliveryColumns: readonly Column<CallbackDelivery>[] = [
  { title: 'DELIVERY', cell: (each) => each.delivery_id },
  { title: 'STATE', cell: ({ state }) => state, style: ({ state }) => styleOf(state) },
  { title: 'ATTEMPTS', right: true, cell: (each) => String(each.attempt_count) },
  { title: 'TYPE', cell: ({ type }) => type },
  { title: 'EVENT', cell: (each) => each.event_id },
  { title: 'NEXT ATTEMPT', cell: (each) => localTime(each.next_attempt_at) },
  { title: 'ENDED', cell: (each) => localTime(each.ended_at) },
];

/** The service gives as many at once. */
const PAGE_MAX = 200;

export async function listDeliveries(
  { connect, output, signal }: Session,
  options: DeliveriesOptions,
): Promise<ExitCode> {
  const { client } = await connect();
  const table = output.table(deliveryColumns);
  const countMax = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let count = 0;
  for (let after: string | undefined; ; ) {
    const limit = Math.min(PAGE_MAX, countMax - count);
    const filter = { endpoint_id: options.endpoint, state: options.state, limit, after };
    const page = await client.callbackDeliveries.page(filter, { signal });
    if (page.deliveries.length > 0) output.rows(table, page.deliveries);
    count += page.deliveries.length;
    if (!page.has_more || page.next_after === null) break;
    if (count >= countMax) {
      output.note(`these are the latest ${count}; --all prints all of them`);
      break;
    }
    after = page.next_after;
  }
  if (count === 0) {
    const isFiltered = options.endpoint !== undefined || options.state !== undefined;
    output.note(isFiltered ? 'there is no such delivery' : 'no callback was sent yet');
  }
  return EXIT.ok;
}

export async function showDelivery({ connect, output, signal }: Session, id: string): Promise<ExitCode> {
  const { client } = await connect();
  const delivery = await client.callbackDeliveries.get(id, { signal });
  output.result(delivery, () => {
    const { state, type, event_id: eventId, next_attempt_at: next } = delivery;
    const facts = block([
      ['delivery', delivery.delivery_id],
      ['state', output.paint(styleOf(state) ?? 'bold', state)],
      ['event', `${type} ${eventId}`],
      ['next attempt', localTime(next)],
    ]);
    return delivery.attempts.length === 0 ? facts : `${facts}\n\n${attemptsOf(delivery.attempts, output)}`;
  });
  return EXIT.ok;
}

const attemptsOf = (attempts: readonly DeliveryAttempt[], output: Output): string =>
  output
    .table<DeliveryAttempt>([
      { title: 'ATTEMPT', right: true, cell: (each) => String(each.attempt) },
      { title: 'STARTED', cell: (each) => localTime(each.started_at) },
      { title: 'MS', right: true, cell: (each) => String(each.duration_ms) },
      {
        title: 'ANSWER',
        cell: (each) => (each.http_status === null ? (each.error ?? '') : `HTTP ${each.http_status}`),
      },
      { title: 'BODY', cell: (each) => (each.answer ?? '').slice(0, ANSWER_SHOWN) },
    ])
    .lines(attempts)
    .trimEnd();

const ANSWER_SHOWN = 60;

export async function replay(
  { connect, output, signal }: Session,
  what: { readonly deliveryId: string } | ReplayRequest,
): Promise<ExitCode> {
  const { client } = await connect();
  if ('deliveryId' in what) {
    const delivery = await client.callbackDeliveries.replay(what.deliveryId, { signal });
    output.result(delivery, () => plain(`${delivery.delivery_id} is ${delivery.state}: it is sent now`));
    return EXIT.ok;
  }
  let replayed = 0;
  for (let after = what.after; ; ) {
    const result = await client.callbackDeliveries.replayRange({ ...what, after }, { signal });
    replayed += result.replayed;
    if (!result.has_more || result.next_after === null) break;
    after = result.next_after;
    output.note(`${replayed} so far, up to event ${after}`, { replayed, next_after: after });
  }
  const { endpoint_id: endpointId, from, to } = what;
  output.result({ endpoint_id: endpointId, from, to, replayed }, () => `${replayed} callbacks are sent now`);
  return EXIT.ok;
}
