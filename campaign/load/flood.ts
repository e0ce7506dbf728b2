import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface FloodSettings {
  readonly port: number;
  readonly connections: number;
  /** One request, as sent. */
  readonly request: string;
  /** Whether the answers are read. */
  readonly isRead: boolean;
}

/** Bytes, and connections that the service closed. */
export interface FloodReport {
  readonly sent: number;
  readonly received: number;
  readonly closed: number;
}

const PROGRAM = new URL('flood-process.ts', import.meta.url);

/** Pipelines requests on many connections, from a process of its own, until the work is done. */
export async function floodWhile<T>(settings: FloodSettings, work: () => Promise<T>): Promise<[T, FloodReport]> {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  try {
    child.send(settings);
    const result = await work();
    child.send('report');
    const [report] = (await Promise.race([once(child, 'message'), exited])) as [FloodReport];
    return [result, report];
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
