import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../support/database.ts';

/** Inside a trigger of its own: each role that may create temporary tables can have one. */
const MOVE_END = `
  create temporary table planted (id integer);
  create function pg_temp.move_end() returns trigger language plpgsql as $$
  begin
    update tiba.operator_actions_end set last_sequence = 0, last_hash = '\\x';
    return null;
  end $$;
  create trigger planted after insert on planted for each row execute function pg_temp.move_end();
  insert into planted values (1)`;

const ADD_RECORD = `
  insert into tiba.operator_actions (sequence, happened_at, actor, origin, action, previous_hash, hash)
  select last_sequence + 1, now(), 'x', 'x', 'x', last_hash, '\\x01' from tiba.operator_actions_end
  returning sequence`;

test('a role with the rights of docs/operating.md can add records only', async (context) => {
  const database = await createTestDatabase();
  context.after(() => database.drop());
  const owner = new pg.Client(database.connection);
  await owner.connect();
  try {
    const role = `tiba_service_${process.pid}`;
    await owner.query(`create role ${role}`);
    try {
      await owner.query(`grant usage on schema tiba to ${role};
        grant select, insert, update, delete on all tables in schema tiba to ${role};
        revoke update, delete, truncate on tiba.operator_actions from ${role};
        set role ${role}`);
      for (const statement of ['update tiba.operator_actions set reason = null', 'delete from tiba.operator_actions'])
        await assert.rejects(owner.query(statement), /permission denied/);
      // Regression: a trigger on a temporary table moved the end, so that records could be forged after it.
      await assert.rejects(owner.query(MOVE_END), /moves with a new record only/);
      await owner.query('begin');
      const added = await owner.query<{ sequence: string }>(ADD_RECORD);
      const end = await owner.query('select last_sequence as sequence from tiba.operator_actions_end');
      assert.deepEqual(end.rows, added.rows);
      await owner.query('rollback');
    } finally {
      await owner.query(`reset role; drop owned by ${role}; drop role ${role}`);
    }
  } finally {
    await owner.end();
  }
});
