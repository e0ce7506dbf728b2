import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** The reason to skip tests that need a command of the machine. CI must have it (.ci/run). */
export function commandIsMissing(command: string): string | false {
  const missing = optionalCommandIsMissing(command);
  assert.ok(missing === false || process.env['CI'] !== 'true', `The ${command} command is missing; CI must have it.`);
  return missing;
}

/** The same for a command that is large: its tests run where it is installed, in CI too. `command`: a name, or an absolute path. */
export function optionalCommandIsMissing(command: string): string | false {
  const directories = process.env['PATH']?.split(path.delimiter) ?? [];
  if (directories.some((directory) => isExecutable(path.resolve(directory, command)))) return false;
  return `The ${command} command is not installed, so this was not checked.`;
}

/** Starting it to find out would take longer than some of its tests: Chromium. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
