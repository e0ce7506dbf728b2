import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from './repository.ts';

export const FUNCTION_LINES_MAX = 70;

export interface LongFunction {
  readonly file: string;
  /** The line on which it begins. */
  readonly beginning: string;
  readonly lines: number;
}

interface Diagnostic {
  readonly message: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

/**
 * The functions in these files and folders with more lines than that, as oxlint counts them: from the first to the
 * last, functions inside included. A suite that holds tests is no function in this sense.
 */
export function findLongFunctions(paths: readonly string[]): LongFunction[] {
  const directory = mkdtempSync(path.join(tmpdir(), 'tiba-tidiness-'));
  try {
    const config = path.join(directory, 'oxlint.json');
    const rules = { 'max-lines-per-function': ['error', { max: FUNCTION_LINES_MAX }] };
    writeFileSync(config, JSON.stringify({ categories: { correctness: 'off' }, rules }));
    const oxlint = path.join(ROOT, 'node_modules/oxlint/bin/oxlint');
    const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '-c', config, '-f', 'json', ...paths], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (!stdout.startsWith('{')) throw new Error(`oxlint did not answer in JSON: ${stdout}${stderr}`);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] };
    return diagnostics.map(toLongFunction).filter(({ beginning }) => !/\b(?:suite|describe)\(/.test(beginning));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function toLongFunction({ message, filename, labels }: Diagnostic): LongFunction {
  const [lines = ''] = /\d+/.exec(/\((\d+)\)/.exec(message)?.[0] ?? '') ?? [];
  const text = readFileSync(path.resolve(ROOT, filename), 'utf8').split('\n');
  const beginning = text[(labels[0]?.span.line ?? 1) - 1] ?? '';
  return { file: filename, beginning: beginning.trim(), lines: Number(lines) };
}
