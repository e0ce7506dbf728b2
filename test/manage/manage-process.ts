import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { INHERITED } from '../support/suite-environment.ts';

const MAIN = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));

export interface ManageEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ManageOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Of another user. Only root may set it. */
  readonly uid?: number;
}

/** Runs `npm run manage -- …` until it ends, with these settings and none of this process's. */
export async function manage(
  args: readonly string[],
  { environment = {}, cwd, uid }: ManageOptions = {},
): Promise<ManageEnd> {
  const child = spawn(process.execPath, [MAIN, 'manage', ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid }),
    env: { ...environment, ...INHERITED },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}

/** Creates a database with Tiba's tables for the test; returns its DATABASE_URL. */
export async function useDatabaseUrl(t: TestContext): Promise<string> {
  const database = await createTestDatabase();
  t.after(database.drop);
  return databaseUrlOf(database);
}

/** The user is a query parameter: before the empty host of a Unix socket it would not be a valid URL. */
export function databaseUrlOf({ connection: { connectionString = '' } }: TestDatabase): string {
  const { searchParams, pathname } = new URL(connectionString.replace('tiba@', ''));
  return `postgresql://${pathname}?user=tiba&password=hunter2&${searchParams.toString()}`;
}
