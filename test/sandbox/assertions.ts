import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { TestDirectory } from '../embedded-postgres/harness.ts';
import { startNpm } from './npm-process.ts';
import { type ProcessInfo, untilEnded } from './processes.ts';

/** All processes have exited, and PostgreSQL was shut down, not killed: it removed its postmaster.pid. */
export async function assertAllStopped(testDirectory: TestDirectory, processes: readonly ProcessInfo[]): Promise<void> {
  await untilEnded(processes);
  assert.ok(!existsSync(path.join(testDirectory.dataDirectory, 'postmaster.pid')), 'PostgreSQL was shut down');
}

/** A failed start has exit code 1 and prints the reason for a person, without a stack trace. */
export async function assertFailedStart(
  testDirectory: TestDirectory,
  args: readonly string[],
  environment: Record<string, string>,
  reason: RegExp,
): Promise<void> {
  const npm = startNpm(testDirectory, args, environment);
  const code = await npm.exited;
  assert.equal(code, 1, npm.stdout());
  assert.match(npm.stderr(), reason);
  assert.doesNotMatch(npm.stderr(), /^\s+at /m);
}
