import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pino from 'pino';
import { copySql, copyText } from '../../apps/server/src/postgres/copy.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

interface Row extends Record<string, unknown> {
  readonly number: number;
  readonly text: string | null;
}

const SQL = copySql('copied', ['number', 'text']);

const rowsOf = (rows: readonly Row[]): string[] =>
  copyText(rows, ({ number, text }, value) => `${number}\t${value(text)}`);

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await database.query('create table copied (number integer primary key, text text)');
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const stored = (): Promise<Row[]> => database.query<Row>('select number, text from copied order by number');

test('rows of many pieces are stored as they are, with what COPY reads in another way', async () => {
  const texts = [null, '', '\\N', '\\.', 'C:\\temp', '"quoted"', 'é 🏦', "it's", 'one\n2\ttwo', 'one\rtwo\\\t'];
  const rows = Array.from(
    { length: 1_000 },
    (_, number): Row => ({ number, text: texts[number % texts.length] ?? null }),
  );
  assert.ok(rowsOf(rows).length > 1);
  await database.transaction((query) => query.copy(SQL, rowsOf(rows)));
  assert.deepEqual(await stored(), rows);
});

test('a value with nothing but a tab is refused, and one with a line end adds no row', async () => {
  await database.query('delete from copied');
  const copy = (text: string) => database.transaction((query) => query.copy(SQL, rowsOf([{ number: 1, text }])));
  await assert.rejects(copy('one\ttwo'), /extra data after last expected column/);
  assert.deepEqual(await stored(), []);
  await copy('one\n2\ttwo');
  assert.deepEqual(await stored(), [{ number: 1, text: 'one\n2\ttwo' }]);
});

test('PostgreSQL ignores the rows of a statement that it refuses: the connection goes on', async () => {
  const rows = rowsOf(Array.from({ length: 1_000 }, (_, number) => ({ number, text: 'x'.repeat(1_000) })));
  await database.query('delete from copied');
  await database.transaction(async (query) => {
    await query('savepoint before');
    await assert.rejects(query.copy(copySql('absent', ['number']), rows), /relation "absent" does not exist/);
    await query('rollback to savepoint before');
    await query.copy(SQL, rowsOf([{ number: 1, text: 'one' }]));
  });
  assert.deepEqual(await stored(), [{ number: 1, text: 'one' }]);
});
