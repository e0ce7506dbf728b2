// Offers requests at a rate, or as fast as they are answered, and counts the answers by status.

import { connect, type Socket } from 'node:net';
import { createAnswerReader } from './answer-reader.ts';
import type { OfferCommand, OfferReport, OfferSettings } from './offer.ts';

interface Connection {
  /** Null before the first attempt to connect. */
  socket: Socket | null;
  isOpen: boolean;
  /** When the requests that are not answered yet were sent, the oldest first. */
  readonly sentMs: number[];
}

interface State {
  readonly settings: OfferSettings;
  readonly counts: { -readonly [Key in keyof OfferReport]: OfferReport[Key] };
  readonly connections: readonly Connection[];
  /** Null: the next request follows each answer. */
  perSecond: number | null;
  /** When the rate was set, and the requests that were due since. */
  fromMs: number;
  arrived: number;
  /** The next of the settings' requests. */
  next: number;
}

const TICK_MS = 5;
const RECONNECT_MS = 200;

process.once('disconnect', () => process.exit());
process.once('message', (settings: OfferSettings) => offer(settings));

function offer(settings: OfferSettings): void {
  const state: State = {
    settings,
    counts: { offered: 0, good: 0, late: 0, rejected: 0, failed: 0, otherStatuses: {} },
    connections: Array.from({ length: settings.connections }, () => ({ socket: null, isOpen: false, sentMs: [] })),
    perSecond: null,
    fromMs: 0,
    arrived: 0,
    next: 0,
  };
  for (const connection of state.connections) open(state, connection);
  setInterval(() => {
    if (state.perSecond !== null) sendDue(state, state.perSecond);
  }, TICK_MS);
  process.on('message', (command: OfferCommand) => {
    if (command === 'report') process.send?.(state.counts);
    else Object.assign(state, { perSecond: command.perSecond, fromMs: performance.now(), arrived: 0 });
  });
}

function open(state: State, connection: Connection): void {
  const socket = connect({ host: '127.0.0.1', port: state.settings.port, noDelay: true });
  connection.socket = socket;
  // A connection that is refused or reset is opened again.
  socket.on('error', () => {});
  socket.on(
    'data',
    createAnswerReader((status) => onAnswer(state, connection, status)),
  );
  socket.once('connect', () => {
    connection.isOpen = true;
    if (state.perSecond === null) send(state, connection, 1);
  });
  socket.once('close', () => {
    connection.isOpen = false;
    state.counts.failed += connection.sentMs.splice(0).length;
    setTimeout(open, RECONNECT_MS, state, connection);
  });
}

function onAnswer(state: State, connection: Connection, status: number): void {
  const { counts, settings } = state;
  const tookMs = performance.now() - (connection.sentMs.shift() ?? 0);
  if (status === 503) counts.rejected += 1;
  else if (status !== 200) counts.otherStatuses[status] = (counts.otherStatuses[status] ?? 0) + 1;
  else if (tookMs <= settings.usefulMs) counts.good += 1;
  else counts.late += 1;
  if (state.perSecond === null) send(state, connection, 1);
}

function send(state: State, { socket, sentMs }: Connection, count: number): void {
  const { requests } = state.settings;
  const nowMs = performance.now();
  let text = '';
  for (let sent = 0; sent < count; sent += 1) {
    text += requests[state.next % requests.length];
    state.next += 1;
    sentMs.push(nowMs);
  }
  socket?.write(text);
}

/** Requests that are due since the last tick go to connections that may have more in flight, and else nowhere. */
function sendDue(state: State, perSecond: number): void {
  const { connections, counts, settings } = state;
  const due = Math.floor(((performance.now() - state.fromMs) / 1_000) * perSecond) - state.arrived;
  state.arrived += due;
  counts.offered += due;
  const share = Math.ceil(due / connections.length);
  let left = due;
  for (const connection of connections) {
    const count = Math.min(settings.inFlightMax - connection.sentMs.length, share, left);
    if (!connection.isOpen || count <= 0) continue;
    send(state, connection, count);
    left -= count;
  }
}
