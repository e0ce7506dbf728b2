// Faults of the disk under PostgreSQL. They need root, and the programs mount and strace.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../support/eventually.ts';

const MEBIBYTE = 1024 * 1024;

/**
 * For a test's `skip`: why the disk's faults cannot be made here, or false. In CI the programs must be there. A kernel
 * that forbids mounting or tracing cannot be changed from within.
 */
export function cannotInjectDiskFaults(): string | false {
  const missing = ['mount', 'strace'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  if (process.platform !== 'linux' || process.geteuid?.() !== 0 || missing.length > 0) {
    const reason = 'faults of the disk need Linux, root, mount and strace';
    assert.notEqual(process.env['CI'], 'true', `${reason}; CI must have them`);
    return reason;
  }
  const isForbidden = !canMount() || spawnSync('strace', ['-o', '/dev/null', 'true']).status !== 0;
  return isForbidden ? 'the kernel forbids this process to mount a file system or to trace another process' : false;
}

function canMount(): boolean {
  const directory = mkdtempSync(path.join(tmpdir(), 'tiba-mount-'));
  try {
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory]).status !== 0) return false;
    execFileSync('umount', [directory]);
    return true;
  } finally {
    rmdirSync(directory);
  }
}

/** A file system of a limited size. */
export interface SmallDisk {
  readonly directory: string;
  /** Writes a file that takes all the space that is left. */
  fill(): void;
  /** Removes that file. */
  free(): void;
  remove(): void;
}

export function mountSmallDisk(mebibytes: number): SmallDisk {
  const directory = mkdtempSync(path.join(tmpdir(), 'tiba-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', directory]);
  const filler = path.join(directory, 'filler');
  return {
    directory,
    fill() {
      const file = openSync(filler, 'w');
      // The last pieces are smaller than a page of PostgreSQL.
      for (const bytes of [Buffer.alloc(MEBIBYTE), Buffer.alloc(4_096)]) while (writes(file, bytes));
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('umount', ['--lazy', directory]);
      rmdirSync(directory);
    },
  };
}

function writes(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) === bytes.length;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}

/**
 * What happens to each `fdatasync`, with which PostgreSQL writes a commit to the disk: in strace's words, `error=EIO`
 * or `delay_enter=` and microseconds.
 */
export async function injectIntoSyncs(
  processIds: readonly number[],
  fault: string,
): Promise<{ stop(): Promise<void> }> {
  const attach = processIds.flatMap((pid) => ['-p', String(pid)]);
  const strace = spawn('strace', ['-f', '-e', 'trace=fdatasync', '-e', `inject=fdatasync:${fault}`, ...attach], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(strace, 'exit');
  let output = '';
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const stop = async (): Promise<void> => {
    // It detaches: the processes go on.
    strace.kill('SIGTERM');
    await exited;
  };
  try {
    await eventually('strace is attached', () => {
      assert.equal(strace.exitCode, null, output);
      return processIds.every((pid) => output.includes(`Process ${pid} attached`));
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
