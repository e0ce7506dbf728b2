import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { createPipelining } from '../../apps/server/src/http/connections/pipelining.ts';
import { eventually } from '../support/eventually.ts';
import { rawRequest } from './raw-connection.ts';

/**
 * Regression: 500 connections that pipelined took 200 MiB. node:stream read two chunks more of each although it was
 * paused, and the memory of chunks that had been parsed waited for the garbage collector.
 */

const REQUESTS = 5_000;
const CHUNK_BYTES = 64 * 1_024;
/** Longer than a chunk, so that some chunks are nothing but a part of it. */
const LONG_BODY = 'body '.repeat(40_000);

let server: Server;
let connection: Socket;
const chunks: Buffer[] = [];
const bodies: string[] = [];
let answered = 0;
let mostReadAhead = 0;

before(async () => {
  const pipelining = createPipelining();
  server = createServer((request, response) => {
    const { socket } = request;
    if (response.socket === null) pipelining.queue(socket, response);
    mostReadAhead = Math.max(mostReadAhead, socket.readableLength);
    void readBody(request).then((body) => {
      if (request.method === 'POST') bodies.push(body);
      response.end(() => {
        answered += 1;
      });
    });
  });
  // Not a listener for 'data': node:http changes how it reads when it sees one.
  server.on('connection', (socket: Socket) => {
    const push = socket.push.bind(socket);
    socket.push = (chunk: Buffer | null, encoding) => {
      if (chunk !== null && chunk.length > CHUNK_BYTES / 2) chunks.push(chunk);
      return push(chunk, encoding);
    };
  });
  server.on('clientError', (error, socket) => {
    if (!pipelining.isStopped(error, socket as Socket)) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  connection.resume();
});
after(() => {
  connection?.destroy();
  server?.close();
});

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request.setEncoding('latin1')) body += String(part);
  return body;
}

suite('a connection that pipelines holds at most one chunk of 64 KiB', () => {
  test('without bodies: the memory of a chunk is freed when it is parsed, and nothing is read ahead', async () => {
    connection.write(Buffer.concat(Array.from({ length: REQUESTS }, (_, index) => rawRequest('GET', `/${index}`))));
    await eventually('all are answered', () => answered === REQUESTS);
    assert.ok(chunks.length >= 2, `${chunks.length} chunks were read`);
    assert.deepEqual(
      chunks.map(({ byteLength }) => byteLength),
      chunks.map(() => 0),
    );
    assert.equal(mostReadAhead, 0);
  });

  test('with bodies: each arrives whole, also one that takes several chunks', async () => {
    const sent = Array.from({ length: 200 }, (_, index) => (index % 40 === 7 ? LONG_BODY : `${index} `.repeat(500)));
    const requests = sent.flatMap((body, index) => [
      rawRequest('POST', `/${index}`, { body }),
      rawRequest('GET', `/${index}`),
    ]);
    connection.write(Buffer.concat(requests));
    await eventually('all are answered', () => answered === REQUESTS + requests.length);
    assert.deepEqual(bodies, sent);
  });
});
