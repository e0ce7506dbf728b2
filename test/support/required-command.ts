import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** The reason to skip tests that need a command of the machine. CI must have it (.ci/run). */
export function commandIsMissing(command: string): string | false {
  const missing = optionalCommandIsMissing(command);
  assert.ok(missing === false || process.env['CI'] !== 'true', `The ${command} command is missing; CI must have it.`);
  return missing;
}

/** The same for a command that is large: its tests run where it is installed, in CI too. */
export function optionalCommandIsMissing(command: string): string | false {
  if (spawnSync(command, ['--version']).error === undefined) return false;
  return `The ${command} command is not installed, so this was not checked.`;
}
