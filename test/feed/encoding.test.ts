import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { decompressBody } from '../../apps/server/src/http/operator/feed/encoding.ts';
import { eventually } from '../support/eventually.ts';

type Hook = (
  request: { headers: Record<string, string> },
  reply: { raw: EventEmitter },
  payload: Readable,
  done: (error: null, body: Readable & { receivedEncodedLength: number }) => void,
) => void;

// Regression: a decoder that has ended decodes what follows, and fails with an error that is not zlib's.
test('a member that arrives after the end of the compressed part is no internal error', async () => {
  // A chunk is read, a second waits in the body, and the decoder ends with a part of a third.
  const first = zlib.gzipSync(Buffer.alloc(150_000));
  const payload = new Readable({ read() {} });
  const { promise, resolve } = Promise.withResolvers<Readable & { receivedEncodedLength: number }>();
  const request = { headers: { 'content-encoding': 'gzip' } };
  (decompressBody as unknown as Hook)(request, { raw: new EventEmitter() }, payload, (_error, body) => resolve(body));
  const body = await promise;

  payload.push(Buffer.concat([first, Buffer.alloc(8)]));
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  payload.push(first);
  payload.push(null);
  await eventually('the second member was decoded', () => body.receivedEncodedLength > first.length);
  await assert.rejects(
    async () => {
      while (!(await chunks.next()).done);
    },
    { code: 'INVALID_FORMAT', message: /has other bytes after it/ },
  );
});
