import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { hasBody } from '../request-checks.ts';

/**
 * Bounds what a connection may have unanswered. node:http parses every request in a chunk of up to 64 KiB at once, some
 * 2,000 of them, and builds a request and a response for each: 50 connections that pipeline fill 1 GB in seconds. Here
 * the parser stops in the middle of the chunk once `QUEUED_MAX` responses wait behind the first one, and continues as
 * they are sent. A client that pipelines is answered in order, however many requests it sends.
 *
 * A connection that does not pipeline costs one comparison per request (`response.socket`), and keeps the fast path in
 * which the parser reads from the socket without JavaScript between them. On a connection that does, this relies on
 * three members of node:http that are not documented: `socket.parser`, `parser.onIncoming`, and its listener for
 * 'data'. test/contract/pipelining.test.ts fails where a version of Node changes them.
 */
export interface Pipelining {
  /** Counts a response that has to wait for an earlier one of its connection (`response.socket` is null). */
  queue(socket: Socket, response: ServerResponse): void;
  /** Whether the connection's parser was stopped, so that `error` (of 'clientError') is no error of the client. */
  isStopped(error: Error, socket: Socket): boolean;
}

/** Node's documentation of 'clientError'. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Responses that may wait behind the one being sent. Few, because each of 500 connections may have them. */
const QUEUED_MAX = 2;
/** Of llhttp: returned by a callback of the parser, it stops the parser there. */
const HPE_PAUSED = 21;
/**
 * Connections whose requests are parsed and dispatched before new bytes are read from any socket. Without this limit,
 * connections that pipeline would delay every other client by the time of all their requests. With 500 of them, half of
 * the CPU time goes to turns of the event loop of 4.1 ms or more where 32 connections have their turn, and of 2.3 ms
 * where 8 have, at the same cost for each request; a status check takes about four turns. It is not a time, because
 * most of a request's work is done in promises, after the turn.
 */
const TURN_CONNECTIONS = 8;

type Request = IncomingMessage & { readonly upgrade: boolean };

interface HttpSocket extends Socket {
  readonly parser: {
    onIncoming: (request: Request, keepAlive: boolean) => number;
    resume(): void;
  } | null;
}

interface PipeliningConnection {
  readonly socket: HttpSocket;
  queued: number;
  /** What was received and is not parsed yet: the rest of at most one chunk. */
  held: Buffer | null;
  /** Whether a body or another chunk may refer to the memory of the chunk in `held`. */
  isShared: boolean;
  /** Whether the latest request has a body, which may continue in the next chunk. */
  hasBody: boolean;
  /** node:http's own reader of a chunk. Null until the parser was stopped for the first time. */
  parse: ((chunk: Buffer) => void) | null;
  /** Whether node:http wants more bytes: it pauses the socket while the body of a request is read too slowly. */
  wanted: boolean;
  isParsing: boolean;
  /** For its turn. */
  isWaiting: boolean;
}

export function createPipelining(): Pipelining {
  const connections = new WeakMap<Socket, PipeliningConnection>();
  const turns = createTurns();

  function open(socket: HttpSocket): PipeliningConnection {
    const connection: PipeliningConnection = {
      socket,
      queued: 0,
      held: null,
      // Both are set by the request that stops the parser: what is held begins after it.
      isShared: isEncrypted(socket),
      hasBody: false,
      parse: null,
      wanted: true,
      isParsing: false,
      isWaiting: false,
    };
    connections.set(socket, connection);
    stopParserWhenFull(connection);
    return connection;
  }

  return {
    queue(socket, response) {
      const connection = connections.get(socket) ?? open(socket as HttpSocket);
      connection.queued += 1;
      response.once('close', () => {
        connection.queued -= 1;
        turns.wake(connection);
      });
    },
    isStopped(error, socket) {
      const { code, rawPacket, bytesParsed }: ParserError = error;
      const connection = connections.get(socket);
      if (connection === undefined) return false;
      // The client sent its request in time. This process is not reading it yet.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return connection.held !== null;
      if (code !== 'HPE_PAUSED' || rawPacket === undefined) return false;
      connection.held = rawPacket.subarray(bytesParsed);
      connection.socket.parser?.resume();
      if (connection.parse === null) takeOverReading(connection, () => turns.wake(connection));
      turns.wake(connection);
      return true;
    },
  };
}

function stopParserWhenFull(connection: PipeliningConnection): void {
  const { parser } = connection.socket;
  if (parser === null) return;
  const dispatch = parser.onIncoming;
  parser.onIncoming = (request, keepAlive) => {
    connection.hasBody = request.upgrade || hasBody(request);
    connection.isShared ||= connection.hasBody;
    const result = dispatch(request, keepAlive);
    return result === 0 && !request.upgrade && connection.queued >= QUEUED_MAX ? HPE_PAUSED : result;
  };
}

/**
 * From here on the socket's bytes pass through `held`. node:http pauses and resumes the socket for its own reasons, for
 * example with the end of each request, so both are caught: the socket is read only when nothing is held.
 */
function takeOverReading(connection: PipeliningConnection, wake: () => void): void {
  const { socket } = connection;
  const pause = socket.pause.bind(socket);
  const resume = socket.resume.bind(socket);
  /* oxlint-disable no-underscore-dangle -- the name of this method is node:stream's */
  const read = socket._read.bind(socket);
  const [parse] = socket.listeners('data');
  const [stopReading] = socket.listeners('pause');
  const [startReading] = socket.listeners('resume');
  connection.parse = parse as (chunk: Buffer) => void;
  // Added before the other one is removed: node:http stops reading by itself when it sees a listener for 'data'.
  socket.on('data', (chunk: Buffer) => {
    if (socket.parser === null) return;
    connection.held = chunk;
    connection.isShared = connection.hasBody || isEncrypted(socket);
    pause();
    wake();
  });
  socket.off('data', connection.parse);
  // It has removed these, which stop and start reading at once.
  socket.on('pause', stopReading as () => void);
  // Both are called when the socket may be paused again. node:stream reads ahead also for a paused stream: two chunks.
  socket.on('resume', () => {
    if (!socket.isPaused()) startReading?.call(socket);
  });
  socket._read = (size) => {
    if (!socket.isPaused()) read(size);
  };
  /* oxlint-enable no-underscore-dangle */
  socket.pause = () => {
    connection.wanted = false;
    return pause();
  };
  socket.resume = () => {
    connection.wanted = true;
    if (mayRead(connection) || socket.parser === null) resume();
    else wake();
    return socket;
  };
  pause();
}

/**
 * The parser is gone when the connection has closed, and after CONNECT. By then another connection may use it, so that
 * nothing may be parsed any more; what still arrives is discarded.
 */
const hasCapacity = ({ socket, queued, wanted }: PipeliningConnection): boolean =>
  wanted && queued < QUEUED_MAX && socket.parser !== null;

/** At most one chunk is held, and none is read while the last one is being parsed: its rest will be held. */
const mayRead = (connection: PipeliningConnection): boolean =>
  connection.held === null && !connection.isParsing && hasCapacity(connection);

/** Connections whose held bytes are parsed in turn, one chunk at a time, between the reads of all other connections. */
function createTurns() {
  const waiting: PipeliningConnection[] = [];
  let isScheduled = false;

  function wake(connection: PipeliningConnection): void {
    if (connection.isWaiting || connection.parse === null) return;
    connection.isWaiting = true;
    waiting.push(connection);
    schedule();
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(run);
  }

  function run(): void {
    isScheduled = false;
    const connections = waiting.splice(0, TURN_CONNECTIONS);
    for (const connection of connections) {
      connection.isWaiting = false;
      parseHeld(connection);
      if (connection.held !== null && hasCapacity(connection)) wake(connection);
    }
    if (waiting.length > 0) schedule();
  }

  return { wake };
}

/** Parses what is held, until the parser is stopped again. */
function parseHeld(connection: PipeliningConnection): void {
  const { socket, held, parse } = connection;
  if (!hasCapacity(connection)) return;
  if (held !== null) {
    connection.held = null;
    connection.isParsing = true;
    parse?.(held);
    connection.isParsing = false;
    if (connection.held === null && !connection.isShared) freeMemory(held);
  }
  if (mayRead(connection)) socket.resume();
}

/**
 * Frees the memory of a chunk at once, which no other object refers to: a socket without TLS reads each chunk into
 * memory of its own, and the parser copies everything but bodies. It would be garbage otherwise, but of the kind that
 * V8 collects late: 500 connections that pipeline left 130 MiB of chunks.
 */
const freeMemory = ({ buffer }: Buffer): void => void (buffer as ArrayBuffer).transfer(0);

/** The TLS records that one read brings lie in one memory, as the chunks after them. */
const isEncrypted = (socket: Socket): boolean => socket instanceof TLSSocket;
