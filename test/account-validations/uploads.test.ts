import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { UPLOAD_MEDIA_TYPES, type UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import {
  createUploadReader,
  type UploadReader,
  type UploadReaderOptions,
} from '../../apps/server/src/account-validations/uploads/upload-reader.ts';
import { eventually } from '../support/eventually.ts';
import { watchEventLoop } from './event-loop.ts';
import { BLOCK_MS_MAX } from './hostile-upload.ts';
import { manyRows } from './many-rows.ts';
import { CSV_TYPE, JSON_TYPE, rowsOf } from './uploads.ts';

const ROWS = 50_000;

const BUSY = { kind: 'busy' };
const small = Buffer.from('bank_code,account_number\n014,0012345678\n');
/** Reading it takes a second or two. */
let large: Buffer;

function start(options: Partial<UploadReaderOptions> = {}): UploadReader & AsyncDisposable {
  const reader = createUploadReader({ log: pino({ level: 'silent' }), ...options });
  return { ...reader, [Symbol.asyncDispose]: () => reader.close() };
}

/** The process IDs of the reader processes that this process has started. */
function readingProcesses(): readonly number[] {
  const all = execFileSync('ps', ['-A', '-ww', '-o', 'ppid=,pid=,args='], { encoding: 'utf8' });
  const ours = new RegExp(String.raw`^\s*${process.pid}\s+(\d+)\s.*reader-process\.ts`, 'gm');
  return [...all.matchAll(ours)].map(([, pid]) => Number(pid));
}

const waitForReaders = (count: number): Promise<void> =>
  eventually(`${count} reader processes`, () => readingProcesses().length === count);

describe('reading uploads', () => {
  let bodies: Readonly<Record<UploadMediaType, Buffer>>;
  before(async () => {
    bodies = await manyRows(ROWS);
    large = bodies[JSON_TYPE];
  });

  for (const mediaType of UPLOAD_MEDIA_TYPES) {
    it(`takes ${ROWS} rows of ${mediaType} in seconds, without blocking this process`, async (t) => {
      await using reader = start();
      const stopWatching = watchEventLoop();
      const startedMs = performance.now();
      const result = await reader.read('alpha', mediaType, bodies[mediaType]);
      const tookMs = performance.now() - startedMs;
      const longestMs = stopWatching();
      t.diagnostic(`${Math.round(tookMs)} ms; the longest block ${longestMs.toFixed(1)} ms`);
      assert.ok(longestMs < BLOCK_MS_MAX, `blocked for ${longestMs} ms`);
      const rows = rowsOf(result);
      assert.equal(rows.length, ROWS);
      assert.ok(rows.every(({ accountNumber }, index) => accountNumber === String(index).padStart(10, '0')));
    });
  }

  it('reads two at a time, others in their order, and none beyond the queue', async () => {
    await using reader = start({ queueMax: 3 });
    const order: number[] = [];
    const read = async (id: number): Promise<string> => {
      const { kind } = await reader.read(`client ${id}`, CSV_TYPE, small);
      order.push(id);
      return kind;
    };
    const reading = [0, 1, 2, 3, 4, 5].map(read);
    assert.equal(await reading[5], 'busy');
    await waitForReaders(2);
    assert.deepEqual(await Promise.all(reading), [...Array(5).fill('rows'), 'busy']);
    // When one upload ends, at most one earlier upload is still being read, in the other slot.
    for (const [place, id] of order.slice(1).entries()) {
      const earlier = order.slice(1, 1 + place).filter((done) => done < id).length;
      assert.ok(earlier >= id - 1, `read in the order of arrival: ${order.join(' ')}`);
    }
    const more = ['one', 'two', 'three'].map((client) => reader.read(client, JSON_TYPE, large));
    await nextTurn();
    assert.equal(readingProcesses().length, 2, 'a slot was passed on and freed as well');
    await reader.close();
    await Promise.all(more);
  });

  /** Regression: an upload of forty bytes waited for six slow workbooks of another client. */
  it('has one slot for each client, and clients that were not served come first', async () => {
    await using reader = start({ queueMax: 8 });
    const order: string[] = [];
    const read = async (client: string, body: Buffer): Promise<string> => {
      const { kind } = await reader.read(client, CSV_TYPE, body);
      order.push(client);
      return kind;
    };
    const greedy = Array.from({ length: 4 }, () => read('greedy', bodies[CSV_TYPE]));
    assert.equal(await greedy[3], 'busy', 'a client has a quarter of the queue');
    await waitForReaders(1);
    const others = ['other', 'third', 'fourth'].map((client) => read(client, small));
    assert.deepEqual(await Promise.all([...greedy, ...others]), [
      'rows',
      'rows',
      'rows',
      'busy',
      'rows',
      'rows',
      'rows',
    ]);
    assert.equal(order.lastIndexOf('greedy'), order.length - 1, order.join(' '));
    assert.ok(order.indexOf('fourth') < order.indexOf('greedy', order.indexOf('greedy', 1) + 1), order.join(' '));
  });

  it('ends with the service: uploads in progress are busy, and no process is left', async () => {
    const reader = start();
    const reading = ['one', 'two', 'three'].map((client) => reader.read(client, JSON_TYPE, large));
    await waitForReaders(2);
    await reader.close();
    assert.deepEqual(readingProcesses(), []);
    assert.deepEqual(await Promise.all(reading), [BUSY, BUSY, BUSY]);
    assert.deepEqual(await reader.read('one', CSV_TYPE, small), BUSY);
  });

  it('is a fault when it takes too long or its process is killed, and the next one is read', async () => {
    await using impatient = start({ timeoutMs: 100 });
    const late = await impatient.read('one', JSON_TYPE, large);
    assert.match(late.kind === 'fault' ? late.message.en : late.kind, /too much time or memory/);

    await using reader = start({ concurrencyMax: 1 });
    const reading = reader.read('one', JSON_TYPE, large);
    const next = reader.read('two', CSV_TYPE, small);
    await waitForReaders(1);
    for (const pid of readingProcesses()) process.kill(pid, 'SIGKILL');
    const killed = await reading;
    assert.equal(killed.kind === 'fault' ? killed.code : killed.kind, 'PAYLOAD_TOO_LARGE');
    assert.equal(rowsOf(await next).length, 1);
  });

  it('runs in a process that cannot write, connect or start processes, and has no secrets', async (t) => {
    process.env['TIBA_TEST_SECRET'] = 'known';
    t.after(() => delete process.env['TIBA_TEST_SECRET']);
    await using reader = start();
    void reader.read('one', JSON_TYPE, large);
    await waitForReaders(1);
    const [pid] = readingProcesses();
    const command = execFileSync('ps', ['eww', '-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
    assert.match(command, / --permission --allow-fs-read=\* [^]*reader-process\.ts application\/json/);
    assert.doesNotMatch(command, /--allow-(?!fs-read)|TIBA_TEST_SECRET/);
  });
});
