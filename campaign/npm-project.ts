import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALLED_WITHIN_MS = 180_000;

/**
 * Installs packages from npm, each with its exact version, in a folder of their own; returns the folder with their
 * files. Their install scripts do not run, and the repository's own packages stay as they are.
 */
export async function installPackages(
  folder: string,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "private": true }');
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await run('npm', ['install', ...options, ...packages], { cwd: folder, signal, timeout: INSTALLED_WITHIN_MS });
  return path.join(folder, 'node_modules');
}
