import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { INSTALLATION_COMMANDS } from '../../apps/server/src/cli/manage-installation-commands.ts';
import { readSettings } from '../../apps/server/src/config/config.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { assertError } from '../contract/assertions.ts';
import { databaseUrlOf, type ManageEnd, manage } from '../manage/manage-process.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { copyTestDatabase, createTestDatabase, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Answer,
  CLIENT_SCOPES,
  startTestService,
  statusUpdate,
  type TestClient,
  type TestService,
} from '../support/service.ts';

/**
 * A service is restored to a point ten minutes back: a copy of its database is made, the service goes on, and then the
 * copy takes its place. What every reader knows by then is from the lost time.
 */

interface ListedEvent {
  readonly sequence: number;
  readonly event_id: string;
  readonly type: string;
  readonly data: { readonly transaction_id: string };
}

/** What clients have read before the restore. */
interface LostTime {
  readonly token: string;
  readonly eventIds: readonly string[];
  readonly lastSequences: Readonly<Record<string, number>>;
  readonly validationId: string;
}

const KEPT = ['TR0000000001', 'TR0000000002', 'TR0000000003'];
/** Succeeds in the lost time. */
const OPEN = 'TR0000000004';
/** Is overdue, then succeeds in the lost time. */
const LATE = 'TR0000000005';
const LOST = ['TR0000000011', 'TR0000000012'];

const NOW_MS = Date.now();
const MINUTE_MS = 60_000;

/** LATE was created ten minutes before the others, so that it is overdue before them. */
const update = (id: string, changes: Record<string, unknown> = {}) =>
  statusUpdate({
    transaction_id: id,
    reference_id: id,
    created_at: new Date(id === LATE ? NOW_MS - 10 * MINUTE_MS : NOW_MS).toISOString(),
    ...changes,
  });

/** Tokens belong to a public URL, so each of these services has the same. */
const port = await findFreePort();
const startOn = (database: TestDatabase): Promise<TestService> => startTestService({ database, settings: { port } });

async function feed(service: TestService, updates: readonly unknown[]): Promise<Record<string, unknown>> {
  const { status, json, text } = await service.feed(updates);
  assert.equal(status, 200, text);
  assert.deepEqual([json.data?.['conflicts'], json.data?.['rejected']], [[], []], text);
  return json.data ?? {};
}

const readEvents = (service: TestService, { token }: Pick<TestClient, 'token'>, from: string | number) =>
  service.get(typeof from === 'string' ? from : `/api/v1/events?after=${from}`, { token });
const eventsOf = ({ json, text }: Answer): readonly ListedEvent[] => {
  assert.ok(json.data !== undefined, text);
  return json.data['events'] as readonly ListedEvent[];
};

const openStream = (service: TestService, id: string, lastEventId: string): Promise<Response> =>
  fetch(`${service.url}/api/v1/check-status/${id}`, {
    headers: {
      authorization: `Bearer ${service.alpha.token}`,
      accept: 'text/event-stream',
      'last-event-id': lastEventId,
    },
  });

describe('a backup is restored', () => {
  let live: TestDatabase;
  let backup: TestDatabase;
  let lost: LostTime;
  let command: ManageEnd;
  let service: TestService | undefined;
  const running = (): TestService => service ?? assert.fail();
  const heartbeatAt = new Date(Date.now() - 10 * MINUTE_MS).toISOString();

  before(async () => {
    live = await createTestDatabase();
    service = await startOn(live);
    await feed(service, [...KEPT.map((id) => update(id, { status: 'SUCCESS' })), update(OPEN), update(LATE)]);
    const held = await service.addClient('held', CLIENT_SCOPES, { 'accounts-per-day': 0 });
    const validationId = await validationsOf(service, held).create([
      { bank_code: 'BCA', account_number: 'none' },
      { bank_code: 'BCA', account_number: '1234567890' },
    ]);
    await service.close();
    backup = await copyTestDatabase(live);
    // A backup of a service that runs has the heartbeats of its processes.
    await querySql(
      backup,
      `insert into tiba.processes
         (process_id, host_name, pid, version, event_loop_utilization, resident_bytes, heartbeat_at)
       values (gen_random_uuid(), 'host', 1, '1', 0, 0, $1)`,
      [heartbeatAt],
    );
    service = await startOn(live);
    lost = await loseTime(service, validationId);
    await service.close();
    service = undefined;
    command = await manage(['restored'], { environment: { DATABASE_URL: databaseUrlOf(backup) } });
    // The times in tokens are whole seconds: a token from the second of the command would be revoked too.
    const second = Math.floor(Date.now() / 1000);
    await eventually('the next second has begun', () => Math.floor(Date.now() / 1000) > second);
    service = await startOn(backup);
  });
  after(async () => {
    await service?.close();
    await backup?.drop();
    await live?.drop();
  });

  it('manage restored says what it did, up to when the backup reaches, and what to do next', () => {
    assert.equal(command.code, 0, command.stderr);
    assert.match(command.stdout, /^This database is marked as restored \(epoch \d{10}\)\./);
    assert.match(command.stdout, /Events of 4 clients go on/);
    assert.match(command.stdout, /Bulk validations that were running are cancelled: 1\./);
    assert.ok(command.stdout.includes(`Feed all status updates again, from a minute before ${heartbeatAt}`));
  });

  it('is refused while a process uses the database', async () => {
    const restored = INSTALLATION_COMMANDS['restored'] ?? assert.fail();
    const context = { actor: { actor: 'user:test', origin: 'test' }, print() {} };
    const run = restored.run(running().app.database, '', {}, readSettings('manage', {}), context);
    await assert.rejects(run, /^Error: 1 processes use this database \(.* pid \d+\): stop them/);
  });

  it('tells every reader that is beyond the backup, and none that is not', async () => {
    for (const [client, kept] of [
      [running().alpha, KEPT.length],
      [running().beta, 0],
    ] as const) {
      const last = lost.lastSequences[client.clientId] ?? 0;
      assert.ok(last > kept);
      for (let cursor = kept + 1; cursor <= last; cursor += 1) {
        const answer = await readEvents(running(), client, cursor);
        assertError(answer, 'CURSOR_GONE');
        assert.equal(answer.headers.get('link'), `</api/v1/events?after=${kept}>; rel="next"`);
        assert.match(answer.json.message, new RegExp(`Continue with after=${kept},`));
      }
      assert.equal((await readEvents(running(), client, kept)).status, 200);
    }
    const stream = await openStream(running(), OPEN, '2');
    assert.equal(stream.status, 410);
    assert.match(await stream.text(), /"error_code":"CURSOR_GONE"/);
  });

  it('refuses the access tokens of the lost time', async () => {
    assertError(await running().get('/api/v1/events', { token: lost.token }), 'UNAUTHORIZED');
  });

  it('cancels the bulk validation that was running, and tells the reader of lost results', async () => {
    const validations = validationsOf(running(), await running().addClient('held', CLIENT_SCOPES));
    assert.equal((await validations.progress(lost.validationId)).state, 'CANCELLED');
    assertError(await validations.read(lost.validationId, '/results?after=2'), 'CURSOR_GONE');
    assert.equal((await validations.read(lost.validationId, '/results?after=1')).status, 200);
  });

  it('no reader skips an event when the core feeds again, and no number or webhook-id comes twice', async () => {
    // More of them than were lost, and in another order: here the late one is not overdue first.
    const again = [LATE, OPEN, ...LOST, 'TR0000000021', 'TR0000000022', 'TR0000000023', 'TR0000000024'];
    const report = await feed(
      running(),
      again.map((id) => update(id, { status: 'SUCCESS' })),
    );
    assert.equal(report['restored_to'], heartbeatAt);
    assert.match(String(report['restored_at']), /^\d{4}-.*Z$/);

    const last = lost.lastSequences['alpha'] ?? 0;
    const gone = await readEvents(running(), running().alpha, last);
    assertError(gone, 'CURSOR_GONE');
    const next = /<(.*)>/.exec(gone.headers.get('link') ?? '')?.[1] ?? assert.fail();
    const events = eventsOf(await readEvents(running(), running().alpha, next));
    assert.deepEqual(events.map(({ data }) => data.transaction_id).toSorted(), again.toSorted());
    const [first = assert.fail()] = events;
    assert.ok(first.sequence > last);
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      again.map((_, index) => first.sequence + index),
    );
    assert.ok(events.every((event) => !lost.eventIds.includes(event.event_id)));
    // A reader that was not beyond the backup gets the same, and one that has just caught up gets an empty page.
    assert.deepEqual(eventsOf(await readEvents(running(), running().alpha, KEPT.length)), events);
    assert.deepEqual(eventsOf(await readEvents(running(), running().alpha, first.sequence + again.length - 1)), []);

    const stream = await openStream(running(), OPEN, '2');
    assert.match(await stream.text(), /id: \d{9}\nevent: status\ndata: .*"status":"SUCCESS"/);
  });

  it('a client that was created in the lost time and is created again does not get its old numbers', async () => {
    const gamma = await running().addClient('gamma', CLIENT_SCOPES);
    await feed(
      running(),
      [1, 2, 3].map((each) => update(`TR000000003${each}`, { client_id: 'gamma', status: 'SUCCESS' })),
    );
    const answer = await readEvents(running(), gamma, lost.lastSequences['gamma'] ?? 0);
    assertError(answer, 'CURSOR_GONE');
    assert.equal(eventsOf(await readEvents(running(), gamma, 0)).length, 3);
  });
});

/** The service goes on after the backup: this is lost. */
async function loseTime(service: TestService, validationId: string): Promise<LostTime> {
  const gamma = await service.addClient('gamma', CLIENT_SCOPES);
  await service.app.transactionUpdater.markOverdue(new Date(NOW_MS + 25 * MINUTE_MS), 10);
  const lost = LOST.map((id) => update(id, { status: 'SUCCESS' }));
  await feed(service, [update(OPEN, { status: 'SUCCESS' }), update(LATE, { status: 'SUCCESS' }), ...lost]);
  await feed(service, [
    update('TR0000000031', { client_id: 'gamma', status: 'SUCCESS' }),
    update('TR0000000041', { client_id: 'beta', status: 'SUCCESS' }),
    update('TR0000000042', { client_id: 'beta', status: 'SUCCESS' }),
  ]);
  const read: Record<string, readonly ListedEvent[]> = {};
  for (const client of [service.alpha, service.beta, gamma]) {
    read[client.clientId] = eventsOf(await readEvents(service, client, 0));
  }
  return {
    token: service.alpha.token,
    eventIds: Object.values(read).flatMap((events) => events.map((event) => event.event_id)),
    lastSequences: Object.fromEntries(Object.entries(read).map(([id, events]) => [id, events.at(-1)?.sequence ?? 0])),
    validationId,
  };
}
