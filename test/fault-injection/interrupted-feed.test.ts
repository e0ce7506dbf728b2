import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { statusUpdate } from '../support/requests.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertRecovers, until } from './request-monitor.ts';
import { startServiceOnPostgres } from './service-on-postgres.ts';

const { server, service } = await startServiceOnPostgres();

const lineFor = (id: string): string => `${JSON.stringify(statusUpdate({ transaction_id: id, reference_id: id }))}\n`;

const countStored = async (prefix: string): Promise<number> => {
  const [row] = await server.query<{ count: number }>(
    'select count(*)::integer as count from tiba.transactions where starts_with(transaction_id, $1)',
    [prefix],
  );
  return row?.count ?? 0;
};

/** A feed request whose body is still being written, and its response. */
function openFeed(): {
  request: http.ClientRequest;
  answered: Promise<{ status: number; body: string; retryAfter: string }>;
} {
  const request = http.request(`${service.operatorUrl}/feed/v1/transactions`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${service.core.token}` },
  });
  const {
    promise: answered,
    resolve,
    reject,
  } = Promise.withResolvers<Awaited<ReturnType<typeof openFeed>['answered']>>();
  request.on('error', reject);
  request.on('response', (response) => {
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, body, retryAfter: response.headers['retry-after'] ?? '' }),
      reject,
    );
  });
  return { request, answered };
}

/** Writes a thousand lines at a time, as fast as the service reads them, until there is a response. */
async function writeUntilAnswered(
  request: http.ClientRequest,
  answered: Promise<unknown>,
  prefix: string,
): Promise<number> {
  const stopping = new AbortController();
  answered.then(
    () => stopping.abort(),
    () => stopping.abort(),
  );
  let written = 0;
  while (!stopping.signal.aborted) {
    let lines = '';
    for (let index = 0; index < 1_000; index += 1, written += 1)
      lines += lineFor(`${prefix}${String(written).padStart(8, '0')}`);
    if (!request.write(lines)) await Promise.race([new Promise((resolve) => request.once('drain', resolve)), answered]);
    await nextTurn();
  }
  return written;
}

suite('PostgreSQL fails in the middle of a long feed', () => {
  for (const [name, prefix, injectFault] of [
    ['stopped', 'TS', () => server.stop()],
    ['frozen', 'TF', () => server.freeze()],
  ] as const) {
    test(`${name}: before the body ends, 503 says how much is stored and to send the feed again`, async () => {
      const { request, answered } = openFeed();
      const writing = writeUntilAnswered(request, answered, prefix);
      await until('a part of the feed is stored', async () => (await countStored(prefix)) > 0);
      await injectFault();
      const { status, body, retryAfter } = await answered;
      const written = await writing;
      request.destroy();

      assert.equal(status, 503, body);
      assert.match(retryAfter, /^[1-9]\d*$/);
      const inserted = /\(stored so far: (\d+) inserted, .*\)\. Send the whole feed again/.exec(body)?.[1];
      assert.ok(inserted !== undefined, body);

      if (name === 'stopped') await server.start();
      else server.resume();
      await assertRecovers(() => service.feed(''));
      // Everything that the response reports is stored; the batch that was in flight may be stored too.
      const stored = await countStored(prefix);
      assert.ok(
        stored >= Number(inserted) && stored <= Number(inserted) + 1_000,
        `${inserted} reported, ${stored} stored`,
      );
      assert.ok(stored < written);
    });
  }

  test('the core disconnects within a line: complete batches are stored, and the service continues', async () => {
    const { request, answered } = openFeed();
    const lost = assert.rejects(answered);
    for (let index = 0; index < 1_100; index += 1) request.write(lineFor(`TG${String(index).padStart(8, '0')}`));
    request.write('{"client_id":');
    await until('a batch is stored', async () => (await countStored('TG')) === 1_000);
    request.destroy(new Error('the core disconnects'));
    await lost;
    await assertRecovers(() => service.feed(''));
    assert.equal(await countStored('TG'), 1_000);
  });

  test('a core that reads only after it has written everything still gets its response', async () => {
    const body = Buffer.from(
      Array.from({ length: 40_000 }, (_, index) => lineFor(`TD${String(index).padStart(8, '0')}`)).join(''),
    );
    const { hostname, port } = new URL(service.operatorUrl);
    const socket = net.connect(Number(port), hostname);
    try {
      const head = [
        'POST /feed/v1/transactions HTTP/1.1',
        'host: localhost',
        `authorization: Bearer ${service.core.token}`,
        'content-type: application/x-ndjson',
        `content-length: ${body.length}`,
      ];
      await server.stop();
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      await new Promise((resolve, reject) => {
        socket.once('error', reject);
        socket.write(body, resolve);
      });
      const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(timeLimitMs(15_000)) })) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 503 [^]*Send the whole feed again/);
    } finally {
      socket.destroy();
      await server.start();
    }
  });
});
