import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** PostgreSQL's clock in one test database, as every statement of later connections sees it. */
export interface DatabaseClock {
  /** Moves the clock, which goes on running. */
  advance(ms: number): Promise<void>;
  /** Sets the clock and stops it there. */
  stopAt(time: Date): Promise<void>;
  close(): Promise<void>;
}

/**
 * Replaces `now()` for the connections that are opened from now on: the database's search path finds a function of the
 * test's own before the built-in one. Defaults of columns keep the built-in one.
 */
export async function controlDatabaseClock({ connection }: Pick<TestDatabase, 'connection'>): Promise<DatabaseClock> {
  const pool = new pg.Pool({ ...connection, max: 1 });
  // Tests close connections; the pool opens another one.
  pool.on('error', () => {});
  await pool.query(`
    create schema test_clock;
    create table test_clock.state (stopped_at timestamptz, ahead interval not null default '0');
    insert into test_clock.state default values;
    create function test_clock.now() returns timestamptz stable language sql as
      'select coalesce(stopped_at, pg_catalog.now() + ahead) from test_clock.state';
    do $$ begin
      execute format('alter database %I set search_path = test_clock, pg_catalog', current_database());
    end $$`);
  return {
    async advance(ms) {
      await pool.query("update test_clock.state set ahead = ahead + $1 * interval '1 millisecond'", [ms]);
    },
    async stopAt(time) {
      await pool.query('update test_clock.state set stopped_at = $1', [time]);
    },
    close: () => pool.end(),
  };
}
