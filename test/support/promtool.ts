import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** The reason to skip tests that need promtool, from Debian's package prometheus. CI must have it. */
export function promtoolIsMissing(): string | false {
  if (spawnSync('promtool', ['--version']).error === undefined) return false;
  assert.notEqual(process.env['CI'], 'true', 'The promtool command is missing; CI must have it.');
  return 'The promtool command is not installed, so this was not checked.';
}
