import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { TestDirectory } from '../embedded-postgres/harness.ts';
import { startNpm } from './npm-process.ts';
import { type ProcessInfo, untilEnded } from './processes.ts';

/** Nothing runs any more, and PostgreSQL was not killed but shut down: it took its file with it. */
export async function assertAllStopped(place: TestDirectory, family: readonly ProcessInfo[]): Promise<void> {
  await untilEnded(family);
  assert.ok(!existsSync(path.join(place.dataDirectory, 'postmaster.pid')), 'PostgreSQL was shut down');
}

/** What is said to a person when it cannot start: exit code 1, the reason, no stack trace. */
export async function assertFailedStart(
  place: TestDirectory,
  args: readonly string[],
  environment: Record<string, string>,
  reason: RegExp,
): Promise<void> {
  const npm = startNpm(place, args, environment);
  const code = await npm.exited;
  assert.equal(code, 1, npm.stdout());
  assert.match(npm.stderr(), reason);
  assert.doesNotMatch(npm.stderr(), /^\s+at /m);
}
