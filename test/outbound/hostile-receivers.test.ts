import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { OutboundFailure, type OutboundFailureReason } from '../../apps/server/src/outbound/outbound-failure.ts';
import type { OutboundReply } from '../../apps/server/src/outbound/reply.ts';
import { type Respond, startHttpReceiver } from '../support/http-receiver.ts';
import { fails, OWNER, open } from './guarded-posts.ts';
import { startTcpReceiver } from './tcp-receiver.ts';

const LIMIT = { timeoutMs: 20_000, owner: OWNER };

/** Posts to a receiver with this response. */
async function postTo(context: TestContext, respond: Respond): Promise<OutboundReply> {
  const { port } = await startHttpReceiver({ context, respond });
  return open(context).post(`http://127.0.0.1:${port}/`, {}, '{}', LIMIT);
}

/** Posts to a receiver that writes raw bytes after the request arrives. */
async function postRaw(
  context: TestContext,
  onRequest: (socket: Socket) => void,
  limit = LIMIT,
): Promise<OutboundReply> {
  const { port } = await startTcpReceiver(context, (socket) => socket.once('data', () => onRequest(socket)));
  return open(context).post(`http://127.0.0.1:${port}/`, {}, '{}', limit);
}

/** Sends this text every 20 ms, without end. */
function drip(socket: Socket, byte: string): void {
  const timer = setInterval(() => socket.write(byte), 20);
  socket.once('close', () => clearInterval(timer));
}

suite('the timeout', () => {
  const drips: Record<string, (socket: Socket) => void> = {
    'before the status line': () => undefined,
    'in the headers': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      drip(socket, 'a');
    },
    'in the body': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n');
      drip(socket, 'a');
    },
    'in chunks': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      drip(socket, '1\r\na\r\n');
    },
    'with one interim reply after the other': (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
  };
  for (const [where, onRequest] of Object.entries(drips)) {
    test(`ends a reply that drips ${where}`, async (context) => {
      const cut = Promise.withResolvers<void>();
      const startedMs = performance.now();
      const post = postRaw(
        context,
        (socket) => {
          socket.once('close', () => cut.resolve());
          onRequest(socket);
        },
        { ...LIMIT, timeoutMs: 300 },
      );
      await fails(post, 'timeout');
      const tookMs = performance.now() - startedMs;
      assert.ok(tookMs >= 290 && tookMs < 5_000, `${tookMs} ms`);
      await cut.promise;
    });
  }
});

suite('a body above the limit', () => {
  test('is cut off, and the status of the reply counts', async (context) => {
    const sent = Promise.withResolvers<number>();
    const reply = await postRaw(context, (socket) => {
      socket.write('HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
      const pour = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', pour);
      socket.once('close', () => sent.resolve(socket.bytesWritten));
      pour();
    });
    assert.equal(reply.status, 202);
    assert.equal(reply.answer, 'a'.repeat(1024));
    // Only as much as the buffers of both sockets hold.
    assert.ok((await sent.promise) < 32 * 1024 * 1024);
  });

  test('costs no memory, even with many replies at once', async (context) => {
    const chunk = Buffer.alloc(64 * 1024, 'a');
    const receiver = await startHttpReceiver({
      context,
      respond: (response) => {
        const pour = (): void => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', pour);
        pour();
      },
    });
    const http = open(context);
    const held = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    const post = () => http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT);
    await Promise.all(Array.from({ length: 20 }, post));
    const before = held();
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 20 }, post));
    const grownMiB = (held() - before) / 2 ** 20;
    assert.ok(grownMiB < 64, `${grownMiB} MiB more`);
  });

  test('up to 64 KiB keeps the connection', async (context) => {
    const receiver = await startHttpReceiver({ context, respond: (response) => response.end('a'.repeat(64 * 1024)) });
    const http = open(context);
    for (let post = 0; post < 10; post += 1) {
      const reply = await http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT);
      assert.equal(reply.answer.length, 1024);
    }
    assert.ok(receiver.connections.length <= 2);
  });
});

test('a gzip bomb is not decompressed', async (context) => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024, 'a'));
  const reply = await postTo(context, (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(bomb);
  });
  assert.equal(reply.status, 200);
  assert.ok(!reply.answer.includes('aaaa'));
  assert.ok(reply.answer.length <= 1024);
});

suite('an invalid reply', () => {
  const replies: Record<string, [string, OutboundFailureReason]> = {
    'not HTTP': ['220 mail.example.com ESMTP\r\n', 'bad_reply'],
    'an upgrade that was not requested': [
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      'bad_reply',
    ],
    'two lengths': ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'bad_reply'],
    'a body cut short': ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', 'bad_reply'],
    'headers without end': [`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`, 'too_large'],
    'nothing at all': ['', 'unreachable'],
  };
  for (const [kind, [bytes, reason]] of Object.entries(replies)) {
    test(`${kind} is a failure: ${reason}`, async (context) => {
      await fails(
        postRaw(context, (socket) => socket.end(bytes)),
        reason,
      );
    });
  }
});

suite('the answer', () => {
  test('is the start of the body, cut at a whole character', async (context) => {
    const { answer } = await postTo(context, (response) => response.end(`x${'é'.repeat(2_000)}`));
    assert.equal(answer, `x${'é'.repeat(511)}`);
  });

  test('is the start of the body even when it comes in pieces', async (context) => {
    const { answer } = await postRaw(context, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 8000\r\n\r\n');
      const pieces = ['a'.repeat(1_000), 'b'.repeat(2_000), 'c'.repeat(5_000)];
      const timer = setInterval(() => socket.write(pieces.shift() ?? ''), 20);
      socket.once('close', () => clearInterval(timer));
    });
    assert.equal(answer, 'a'.repeat(1_000) + 'b'.repeat(24));
  });

  test('has no control characters except line ends and tabs, and no bidirectional ones', async (context) => {
    const { answer } = await postTo(context, (response) =>
      response.end('a\u0000b\u001B[31mc\r\nd\te\rf\u009Bg\u202Eh\u2066i\u2028j\u007Fk 👍'),
    );
    assert.equal(answer, 'a\uFFFDb\uFFFD[31mc\nd\te\uFFFDf\uFFFDg\uFFFDh\uFFFDi\uFFFDj\uFFFDk 👍');
  });

  test('is decoded leniently', async (context) => {
    const { answer } = await postTo(context, (response) => response.end(Buffer.from([0x61, 0xff, 0x62, 0xc3])));
    assert.equal(answer, 'a\uFFFDb\uFFFD');
  });

  test('may be empty, after interim replies', async (context) => {
    const reply = await postRaw(context, (socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nretry-after: 1\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n');
    });
    assert.deepEqual([reply.status, reply.answer, reply.retryAfter], [204, '', null]);
  });
});

test('Retry-After is passed on unchanged unless it is too long', async (context) => {
  const cases: [string | string[], string | null][] = [
    ['120', '120'],
    ['Fri, 31 Dec 2027 23:59:59 GMT', 'Fri, 31 Dec 2027 23:59:59 GMT'],
    [['7', '9'], '7'],
    ['1'.repeat(65), null],
  ];
  for (const [sent, expected] of cases) {
    const reply = await postTo(context, (response) => {
      response.setHeader('retry-after', sent);
      response.end();
    });
    assert.equal(reply.retryAfter, expected);
  }
});

test('a second reply on a connection is not taken for the reply to the next post', async (context) => {
  const receiver = await startTcpReceiver(context, (socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n');
    });
  });
  const http = open(context);
  for (let post = 0; post < 5; post += 1) {
    const reply = await http
      .post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT)
      .catch((error: unknown) => error);
    if (!(reply instanceof OutboundFailure)) assert.equal((reply as OutboundReply).status, 200);
  }
  const [socket] = receiver.connections;
  if (socket !== undefined && !socket.destroyed) await once(socket, 'close');
});
