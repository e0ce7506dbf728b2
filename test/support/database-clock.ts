import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** PostgreSQL's clock in one test database, as every statement of later connections sees it. */
export interface DatabaseClock {
  /** Moves the clock, which goes on running. */
  advance(ms: number): Promise<void>;
  /** Sets the clock and stops it there. */
  stopAt(time: Date): Promise<void>;
}

/**
 * Replaces `now()` for the connections that are opened from now on: the database's search path finds a function of the
 * test's own before the built-in one. Defaults of columns keep the built-in one.
 */
export async function controlDatabaseClock({ connection }: Pick<TestDatabase, 'connection'>): Promise<DatabaseClock> {
  /** On a connection of its own, because tests close those that exist. */
  async function execute(sql: string, values?: unknown[]): Promise<void> {
    const client = new pg.Client(connection);
    await client.connect();
    try {
      await client.query(sql, values);
    } finally {
      await client.end();
    }
  }

  await execute(`
    create schema test_clock;
    create table test_clock.state (stopped_at timestamptz, ahead interval not null default '0');
    insert into test_clock.state default values;
    create function test_clock.now() returns timestamptz stable language sql as
      'select coalesce(stopped_at, pg_catalog.now() + ahead) from test_clock.state';
    do $$ begin
      execute format('alter database %I set search_path = test_clock, pg_catalog', current_database());
    end $$`);
  return {
    advance: (ms) => execute("update test_clock.state set ahead = ahead + $1 * interval '1 millisecond'", [ms]),
    stopAt: (time) => execute('update test_clock.state set stopped_at = $1', [time]),
  };
}
