import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.ts';

export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
}

/** All running processes of this machine, without zombies. */
async function listProcesses(): Promise<ProcessInfo[]> {
  if (process.platform !== 'linux') return listWithPs();
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const found = await Promise.all(pids.map(readProcess));
  return found.filter((each) => each !== null);
}

/** The process and all its descendants. */
export async function processTreeOf(pid: number): Promise<ProcessInfo[]> {
  const all = await listProcesses();
  const family = all.filter((each) => each.pid === pid);
  for (const member of family) family.push(...all.filter(({ parentPid }) => parentPid === member.pid));
  return family;
}

/** Resolves when all of them have exited; rejects with those that have not. */
export async function untilEnded(processes: readonly ProcessInfo[], withinMs = 15_000): Promise<void> {
  const pids = new Set(processes.map(({ pid }) => pid));
  let left: ProcessInfo[] = [];
  const areEnded = async (): Promise<boolean> => {
    left = (await listProcesses()).filter(({ pid }) => pids.has(pid));
    return left.length === 0;
  };
  await eventually('all processes have ended', areEnded, withinMs).catch((cause: unknown) => {
    throw new Error(`left running:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`, { cause });
  });
}

// proc(5), "stat": pid, name in parentheses, state, parent. A name may contain any character, so the last one counts.
const STAT = /^\d+ \(.*\) (\S) (\d+)/s;

async function readProcess(pid: number): Promise<ProcessInfo | null> {
  try {
    const [stat, commandLine] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    const [, state, parentPid] = STAT.exec(stat) ?? [];
    if (state === undefined || 'ZX'.includes(state)) return null;
    return { pid, parentPid: Number(parentPid), command: commandLine.replaceAll('\0', ' ').trim() };
  } catch {
    // It has exited in the meantime.
    return null;
  }
}

async function listWithPs(): Promise<ProcessInfo[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args=']);
  return stdout
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null && !(match[3] ?? '').startsWith('Z'))
    .map((match) => ({ pid: Number(match?.[1]), parentPid: Number(match?.[2]), command: match?.[4] ?? '' }));
}
