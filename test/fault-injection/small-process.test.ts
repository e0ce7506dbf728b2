import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { createFastClient } from '../contract/fast-client.ts';
import { openRawConnection, type RawConnection, rawRequest } from '../contract/raw-connection.ts';
import { CLIENT_ID, type ServedProcess, startServedProcess } from '../observability/served-process.ts';
import { eventually } from '../support/eventually.ts';
import { send, statusUpdate } from '../support/requests.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** The service as operators start it, with little memory or few files, and with more load than it can take. */

const STOPPED_WITHIN_MS = timeLimitMs(10_000);
const CHECK_STATUS = '/api/v1/check-status/NONE';

/** Feeds transactions one after another, until it is stopped or the test ends. Remembers which were acknowledged. */
function feedContinuously(t: TestContext, { operatorUrl }: ServedProcess, token: string) {
  const acknowledged: string[] = [];
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const statuses = new Set<number>();
  const feeders = Array.from({ length: 4 }, async (_, feeder) => {
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      const id = `TS${feeder}${String(count).padStart(9, '0')}`;
      const update = statusUpdate({ client_id: CLIENT_ID, transaction_id: id, reference_id: id });
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const answer = await send(`${operatorUrl}/feed/v1/transactions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(update),
        // A connection that the service closes, or does not take.
      }).catch(() => null);
      if (answer !== null) statuses.add(answer.status);
      if (answer?.status === 200) acknowledged.push(id);
    }
  });
  return {
    acknowledged,
    /** The HTTP statuses that were answered. */
    async stop(): Promise<Set<number>> {
      stopping.abort();
      await Promise.all(feeders);
      return statuses;
    },
  };
}

async function assertStored({ connection }: ServedProcess, ids: readonly string[]): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ transaction_id: string }>(
      'select transaction_id from tiba.transactions where transaction_id = any ($1)',
      [ids],
    );
    assert.equal(new Set(rows.map((row) => row.transaction_id)).size, ids.length, 'acknowledged, and not stored');
  } finally {
    await client.end();
  }
}

async function closePostgresConnections({ connection }: ServedProcess): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tiba%' and datname = current_database()",
    );
  } finally {
    await client.end();
  }
}

async function assertExits(service: ServedProcess): Promise<void> {
  const { code, tookMs } = await service.terminate();
  assert.equal(code, 0);
  assert.ok(tookMs < STOPPED_WITHIN_MS, `stopped after ${tookMs} ms`);
}

/** Connections that pipeline requests as fast as the service takes them, and read no answer. */
function pipelineUnread(t: TestContext, { url }: ServedProcess, connections: number): void {
  const { hostname, port } = new URL(url);
  const requests = Buffer.concat(Array.from({ length: 500 }, () => rawRequest('GET', '/api/v1/banks')));
  const sockets: Socket[] = Array.from({ length: connections }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.pause();
    const write = (): void => {
      while (!socket.destroyed && socket.write(requests));
    };
    socket.on('drain', write);
    socket.once('connect', write);
    return socket;
  });
  t.after(() => sockets.forEach((socket) => socket.destroy()));
}

// Clients' connections took all files: lost connections to PostgreSQL could not be opened again.
test('64 open files: clients beyond are refused, and the process can open its own connections', async (t) => {
  const service = await startServedProcess(t, 'pipe', {
    openFilesMax: 64,
  });
  let log = '';
  service.child.stdout?.setEncoding('utf8').on('data', (text: string) => (log += text));
  const token = await service.logIn();
  const feed = feedContinuously(t, service, token);
  const request = rawRequest('GET', CHECK_STATUS, { headers: { authorization: `Bearer ${token}` } });

  const held: RawConnection[] = [];
  t.after(() => held.forEach((connection) => connection.end()));
  let refused = 0;
  for (let count = 0; count < 100; count += 1) {
    const connection = await openRawConnection(service.url);
    connection.send(request);
    const answer = await connection.read();
    if (answer?.status === 404) held.push(connection);
    else refused += 1;
    // The connection is closed without an answer where many are refused at the same moment.
    if (answer !== null && answer.status !== 404) assert.equal(answer.json.error_code, 'SERVICE_UNAVAILABLE');
  }
  assert.ok(held.length >= 4 && held.length < 32, `${held.length} connections were admitted`);
  assert.equal(refused + held.length, 100);

  await closePostgresConnections(service);
  const before = feed.acknowledged.length;
  await eventually('feeds are stored again', () => feed.acknowledged.length > before + 20);
  for (const connection of held) {
    connection.send(request);
    assert.ok([404, 503].includes((await connection.read())?.status ?? 0));
  }
  for (const connection of held) connection.end();
  await eventually('clients are admitted again', async () => {
    const { status } = await send(service.url + CHECK_STATUS, { headers: { authorization: `Bearer ${token}` } });
    return status === 404;
  });
  assert.deepEqual(
    [...(await feed.stop())].filter((status) => status !== 200 && status !== 503),
    [],
  );
  await assertStored(service, feed.acknowledged);
  assert.deepEqual(log.match(/EMFILE|"level":[56]0/g), null);
  assert.ok(log.includes('raise the limit of open files'));
  await assertExits(service);
});

test('128 MB of heap, overload, and SIGTERM at its peak: exit 0, and every acknowledged update is stored', async (t) => {
  const service = await startServedProcess(t, 'pipe', {
    nodeOptions: ['--max-old-space-size=128'],
    environment: { TIBA_EVENT_LOOP_DELAY_MS: '100' },
  });
  service.child.stdout?.resume();
  let token = '';
  await eventually('the process is calm', async () => {
    token = await service.logIn().catch(() => '');
    return token !== '';
  });
  const feed = feedContinuously(t, service, token);
  await eventually('feeds are acknowledged', () => feed.acknowledged.length > 20);
  const client = createFastClient(service.url, 64);
  const counts = new Map<number, number>();
  const ended = new AbortController();
  t.after(() => ended.abort());
  const residentBefore = await service.residentMemory();
  pipelineUnread(t, service, 50);
  const lookUps = Array.from({ length: 64 }, async () => {
    while (!ended.signal.aborted) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await client.send(CHECK_STATUS, { headers }).catch(() => null);
      if (answer === null) return;
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    }
  });
  const answered = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  await eventually('the load is at its peak', () => answered() > 2_000);
  const grownMebibytes = ((await service.residentMemory()) - residentBefore) / 1024;
  const { code, tookMs } = await service.terminate();
  ended.abort();
  await Promise.all(lookUps);
  await client.close();
  const statuses = [...counts.keys(), ...(await feed.stop())];
  t.diagnostic(
    `${JSON.stringify(Object.fromEntries(counts))}, ${Math.round(grownMebibytes)} MiB, ${Math.round(tookMs)} ms`,
  );
  assert.equal(code, 0);
  assert.ok(tookMs < STOPPED_WITHIN_MS, `stopped after ${tookMs} ms`);
  assert.deepEqual(
    statuses.filter((status) => ![200, 404, 503].includes(status)),
    [],
  );
  assert.ok(grownMebibytes < 250, `${grownMebibytes} MiB more`);
  await assertStored(service, feed.acknowledged);
});
