// Clients that send a request when it is due, whether earlier ones were answered or not. Each request has a connection
// for itself while it is in flight, as those of different clients have. They use plain sockets: HTTP clients would cost
// more than the service that is measured.

import { connect, type Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { runAsChild } from '../as-child.ts';
import { startControlServer } from '../end-to-end/control.ts';
import { NUMBER, NUMBER_DIGITS, type Requests } from '../load/load.ts';

export interface OpenLoopClientsSettings {
  readonly requests: Requests;
  /** The client gives up, and closes the connection, when no answer has arrived this long after the request was due. */
  readonly deadlineMs: number;
  /** Answers within this time are counted apart. */
  readonly soonMs: number;
}

export interface OpenLoopClientsAddress {
  readonly controlUrl: string;
}

export interface OfferedLoad {
  /** Requests that are due each second; null: the next one is due when a connection has its answer. */
  readonly perSecond: number | null;
  /** How many may be open. A request that finds none free is not sent. */
  readonly connectionsMax: number;
  /** For requests of which none is repeated: the first one's. */
  readonly firstNumber: number;
}

/** Counted since the last report. */
export interface OpenLoopReport {
  readonly seconds: number;
  /** Due, sent or not. */
  readonly offered: number;
  /** Due, and not sent: no connection was free, and no more may be open. */
  readonly notSent: number;
  /** Answered with 200 before the deadline. */
  readonly good: number;
  /** Of those, within `soonMs`. */
  readonly soon: number;
  readonly gaveUp: number;
  /** Connections that ended without an answer. */
  readonly failed: number;
  /** Answers by any other status. */
  readonly others: Readonly<Record<string, number>>;
  /** Of good answers, from when the request was due. NaN is null in JSON. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

interface Connection {
  readonly socket: Socket;
  isOpen: boolean;
  /** When its request was due; null while it has none in flight. */
  dueMs: number | null;
  /** Counts its requests, so that a deadline finds out whether the one that it is of is still in flight. */
  request: number;
  received: string;
}

const TICK_MS = 1;
/** Clients are other machines. Here they share a processor with PostgreSQL and the bank, so they yield it to those. */
const NICENESS = 5;
/** Connections that are being opened: fewer than the queue of a listener holds (511 in Node). */
const CONNECTING_MAX = 200;
const HEAD_END = '\r\n\r\n';
const STATUS_OFFSET = 'HTTP/1.1 '.length;

await runAsChild<OpenLoopClientsAddress>(async (sent) => {
  setPriority(getPriority() + NICENESS);
  const clients = createClients(sent as OpenLoopClientsSettings);
  const control = await startControlServer({
    begin: (load) => clients.begin(load as OfferedLoad),
    takeReport: () => clients.takeReport(),
    end: () => clients.end(),
  });
  return {
    address: { controlUrl: control.url },
    async close() {
      clients.end();
      control.close();
    },
  };
});

interface State {
  readonly settings: OpenLoopClientsSettings;
  readonly nextRequest: ReturnType<typeof createRequestTexts>;
  readonly connections: Set<Connection>;
  readonly free: Connection[];
  /** Requests in flight, in the order in which they were sent: their deadlines pass in this order. */
  readonly deadlines: ReturnType<typeof createDeadlines>;
  load: OfferedLoad;
  counts: ReturnType<typeof createCounts>;
  connecting: number;
  /** When the load began, and the requests that were due since. */
  fromMs: number;
  arrived: number;
  ticking: NodeJS.Timeout | undefined;
}

function createClients(settings: OpenLoopClientsSettings) {
  const state: State = {
    settings,
    nextRequest: createRequestTexts(settings.requests),
    connections: new Set(),
    free: [],
    deadlines: createDeadlines(),
    load: { perSecond: 0, connectionsMax: 0, firstNumber: 0 },
    counts: createCounts(),
    connecting: 0,
    fromMs: 0,
    arrived: 0,
    ticking: undefined,
  };
  return {
    begin(load: OfferedLoad): void {
      end(state);
      state.nextRequest.startAt(load.firstNumber);
      const ticking = setInterval(tick, TICK_MS, state);
      Object.assign(state, { load, fromMs: performance.now(), arrived: 0, counts: createCounts(), ticking });
    },
    takeReport(): OpenLoopReport {
      const taken = state.counts;
      state.counts = createCounts();
      return taken.report();
    },
    end: () => end(state),
  };
}

function tick(state: State): void {
  giveUp(state);
  const { perSecond } = state.load;
  if (perSecond === null) return refill(state);
  const due = Math.floor(((performance.now() - state.fromMs) / 1_000) * perSecond);
  for (; state.arrived < due; state.arrived += 1) arrive(state, state.fromMs + (state.arrived / perSecond) * 1_000);
}

function refill(state: State): void {
  while (canOpen(state)) arrive(state, performance.now());
}

function canOpen({ connections, connecting, load }: State): boolean {
  return connections.size < load.connectionsMax && connecting < CONNECTING_MAX;
}

/** Sends the request that was due then, or counts it as not sent. */
function arrive(state: State, dueMs: number): void {
  const { free, counts } = state;
  counts.offered += 1;
  let connection = free.pop();
  while (connection !== undefined && !connection.isOpen) connection = free.pop();
  if (connection !== undefined) send(state, connection, dueMs);
  else if (canOpen(state)) open(state, dueMs);
  else counts.notSent += 1;
}

function send({ settings, deadlines, nextRequest }: State, connection: Connection, dueMs: number): void {
  connection.dueMs = dueMs;
  connection.request += 1;
  deadlines.push({ connection, request: connection.request, endMs: dueMs + settings.deadlineMs });
  connection.socket.write(nextRequest(), 'latin1');
}

function open(state: State, dueMs: number): void {
  const { hostname, port } = new URL(state.settings.requests.origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const connection: Connection = { socket, isOpen: true, dueMs: null, request: 0, received: '' };
  state.connections.add(connection);
  state.connecting += 1;
  let isConnecting = true;
  const endConnecting = (): void => {
    if (isConnecting) state.connecting -= 1;
    isConnecting = false;
  };
  socket.setEncoding('latin1');
  socket.once('connect', endConnecting);
  socket.on('data', (text: string) => onData(state, connection, text));
  socket.on('error', () => {});
  socket.once('close', () => {
    endConnecting();
    connection.isOpen = false;
    state.connections.delete(connection);
    if (connection.dueMs !== null) state.counts.failed += 1;
    connection.dueMs = null;
  });
  send(state, connection, dueMs);
}

function onData(state: State, connection: Connection, text: string): void {
  const { counts, settings, load, free } = state;
  connection.received += text;
  const { received } = connection;
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0);
  if (received.length < headEnd + HEAD_END.length + length) return;
  connection.received = '';
  const nowMs = performance.now();
  const tookMs = nowMs - (connection.dueMs ?? nowMs);
  connection.dueMs = null;
  const status = received.slice(STATUS_OFFSET, STATUS_OFFSET + 3);
  if (status === '200') counts.addGood(tookMs, settings.soonMs);
  else counts.others[status] = (counts.others[status] ?? 0) + 1;
  if (state.ticking === undefined) connection.socket.destroy();
  else if (load.perSecond !== null) free.push(connection);
  else {
    counts.offered += 1;
    send(state, connection, nowMs);
  }
}

function giveUp({ deadlines, counts }: State): void {
  const nowMs = performance.now();
  for (let first = deadlines.first(); first !== undefined; first = deadlines.first()) {
    const { connection, request, endMs } = first;
    const isInFlight = connection.dueMs !== null && connection.request === request;
    if (isInFlight && endMs > nowMs) return;
    deadlines.shift();
    if (!isInFlight) continue;
    counts.gaveUp += 1;
    connection.dueMs = null;
    connection.socket.destroy();
  }
}

function end(state: State): void {
  clearInterval(state.ticking);
  state.ticking = undefined;
  for (const { socket } of state.connections) socket.destroy();
  state.free.length = 0;
}

/** A request's text, with the next number. */
function createRequestTexts({ origin, method, path, headers, body, numbers }: Requests) {
  const { host } = new URL(origin);
  const length = body.replace(NUMBER, '0'.repeat(NUMBER_DIGITS)).length;
  const text = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === '' ? [] : [`Content-Length: ${length}`]),
    '',
    body,
  ].join('\r\n');
  const [before = '', after = ''] = text.split(NUMBER);
  let next = 0;
  const nextRequest = (): string => {
    const number = numbers.order === 'random' ? Math.floor(Math.random() * numbers.below) : (next += 1);
    return before + String(number).padStart(NUMBER_DIGITS, '0') + after;
  };
  return Object.assign(nextRequest, { startAt: (number: number) => void (next = number) });
}

interface Deadline {
  readonly connection: Connection;
  readonly request: number;
  readonly endMs: number;
}

/** A queue: an array would be copied for each that leaves it. */
function createDeadlines() {
  let queue: Deadline[] = [];
  let start = 0;
  return {
    push: (deadline: Deadline) => void queue.push(deadline),
    first: (): Deadline | undefined => queue[start],
    shift(): void {
      start += 1;
      if (start < 10_000 || start < queue.length / 2) return;
      queue = queue.slice(start);
      start = 0;
    },
  };
}

function createCounts() {
  const startMs = performance.now();
  const tookMs: number[] = [];
  const counts = {
    offered: 0,
    notSent: 0,
    soon: 0,
    gaveUp: 0,
    failed: 0,
    others: {} as Record<string, number>,
    addGood(ms: number, soonMs: number): void {
      tookMs.push(ms);
      if (ms <= soonMs) counts.soon += 1;
    },
    report(): OpenLoopReport {
      const { offered, notSent, soon, gaveUp, failed, others } = counts;
      tookMs.sort((one, other) => one - other);
      const quantile = (share: number): number | null =>
        tookMs[Math.max(Math.ceil(tookMs.length * share) - 1, 0)] ?? null;
      return {
        seconds: (performance.now() - startMs) / 1_000,
        offered,
        notSent,
        good: tookMs.length,
        soon,
        gaveUp,
        failed,
        others,
        p50Ms: quantile(0.5),
        p99Ms: quantile(0.99),
      };
    },
  };
  return counts;
}
