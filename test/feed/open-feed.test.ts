import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { after, afterEach, before, suite, test } from 'node:test';
import zlib from 'node:zlib';
import { openRawConnection, rawRequest } from '../contract/raw-connection.ts';
import { whileDatabaseRefuses } from '../support/database-outage.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { createIds } from './harness.ts';

/** Feeds of cores that keep them open, and send a line now and then. */

let service: TestService;
const newId = createIds('TO');

before(async () => {
  service = await startTestService({ rails: [] });
});
after(() => service?.close());

const lineOf = (id: string): string =>
  `${JSON.stringify(statusUpdate({ transaction_id: id, reference_id: `ref ${id}` }))}\n`;
const chunk = (bytes: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]);
const LAST_CHUNK = chunk('');

const isStored = async (id: string): Promise<boolean> =>
  (await service.get(`/api/v1/check-status/${id}`)).status === 200;
const untilStored = (id: string): Promise<void> => eventually(`${id} to be stored`, () => isStored(id));

async function openFeed(headers: Readonly<Record<string, string>> = {}) {
  const connection = await openRawConnection(service.operatorUrl);
  connection.send(
    rawRequest('POST', '/feed/v1/transactions', {
      headers: {
        authorization: `Bearer ${service.core.token}`,
        'content-type': 'application/x-ndjson',
        'transfer-encoding': 'chunked',
        ...headers,
      },
    }),
  );
  return connection;
}

// Regression: a line waited in memory until 1,000 had arrived, or the feed ended.
suite('lines are stored while the feed stays open', () => {
  test('each of those that come now and then', async () => {
    const feed = await openFeed();
    const ids = [newId(), newId(), newId()];
    for (const id of ids) {
      feed.send(chunk(lineOf(id)));
      await untilStored(id);
    }
    feed.send(LAST_CHUNK);
    const answer = await feed.read();
    assert.equal(answer?.status, 200);
    assert.equal(answer.json.data?.['inserted'], 3);
    feed.end();
  });

  test('and not a line that is not complete', async () => {
    const feed = await openFeed();
    const [whole, half] = [newId(), newId()];
    const line = lineOf(half);
    feed.send(chunk(lineOf(whole) + line.slice(0, 40)));
    await untilStored(whole);
    assert.equal(await isStored(half), false);
    feed.send(chunk(line.slice(40)));
    await untilStored(half);
    feed.end();
  });

  test('compressed ones, when the compressor is flushed', async () => {
    const feed = await openFeed({ 'content-encoding': 'zstd' });
    const compressor = zlib.createZstdCompress();
    compressor.on('data', (bytes: Buffer) => feed.send(chunk(bytes)));
    for (const id of [newId(), newId()]) {
      compressor.write(lineOf(id));
      compressor.flush();
      await untilStored(id);
    }
    compressor.destroy();
    feed.end();
  });

  test('of those that never pause, too few to fill a batch', async (t) => {
    const feed = await openFeed();
    const first = newId();
    feed.send(chunk(lineOf(first)));
    const sending = setInterval(() => feed.send(chunk(lineOf(newId()))), 20);
    t.after(() => clearInterval(sending));
    await untilStored(first);
    feed.end();
  });
});

suite('a feed that cannot be stored while it is open', () => {
  test('gets 503 at once; what it still sends is read, and the connection serves the next request', async () => {
    const feed = await openFeed();
    const [stored, lost] = [newId(), newId()];
    feed.send(chunk(lineOf(stored)));
    await untilStored(stored);
    await whileDatabaseRefuses(service.database, async () => {
      feed.send(chunk(lineOf(lost)));
      const answer = await feed.read();
      assert.deepEqual([answer?.status, answer?.json.error_code], [503, 'SERVICE_UNAVAILABLE']);
      assert.match(answer?.json.message ?? '', /stored so far: 1 inserted.*Send the whole feed again/);
    });
    // More than the buffers of the sockets hold.
    for (let sent = 0; sent < 16; sent += 1) feed.send(chunk(Buffer.alloc(1024 * 1024, lineOf(lost))));
    feed.send(LAST_CHUNK);
    feed.send(rawRequest('GET', '/livez'));
    assert.equal((await feed.read())?.status, 200);
    feed.end();
  });
});

suite('the access log of a feed that tells its progress', () => {
  const feedLines = () => service.logged.filter(({ route }) => route === '/feed/v1/transactions');

  afterEach(() => {
    service.logged.length = 0;
  });

  async function openWithProgress() {
    service.logged.length = 0;
    const request = http.request(`${service.operatorUrl}/feed/v1/transactions`, {
      method: 'POST',
      headers: {
        accept: 'application/x-ndjson',
        authorization: `Bearer ${service.core.token}`,
        'content-type': 'application/x-ndjson',
      },
    });
    request.write(lineOf(newId()));
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    const lines = createInterface({ input: response });
    return { request, lines };
  }

  // Regression: it was logged at the first line of progress, as a success, and without what became of it.
  test('has what became of it, when that is known', async () => {
    const { request, lines } = await openWithProgress();
    assert.deepEqual(feedLines(), []);
    request.end(lineOf(newId()));
    await once(lines, 'close');
    const [logged] = feedLines();
    assert.equal(logged?.['feed'], '2 inserted, 0 advanced, 0 unchanged, 0 conflicts, 0 rejected');
    assert.ok(Number(logged?.['durationMs']) > 1_000);
    assert.equal(feedLines().length, 1);
  });

  test('has the error and what was stored before it, when it fails later', async () => {
    const { request, lines } = await openWithProgress();
    await whileDatabaseRefuses(service.database, async () => {
      request.end(lineOf(newId()));
      await once(lines, 'close');
    });
    const [logged] = feedLines();
    assert.equal(logged?.['errorCode'], 'SERVICE_UNAVAILABLE');
    assert.equal(logged?.['feed'], '1 inserted, 0 advanced, 0 unchanged, 0 conflicts, 0 rejected');
  });
});
