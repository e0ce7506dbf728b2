import type { Log } from '../observability/log.ts';
import type { WorkerProcess } from './worker-process.ts';

const PINGS = 6;

/**
 * Kills a worker that has not answered its parent for `timeoutMs`, for example because its event loop is blocked. Its
 * unanswered pings count, not the time since its last answer: a parent that was itself held up has sent none meanwhile.
 * Returns whether it was killed.
 */
export function killWhenHung(worker: WorkerProcess, timeoutMs: number, log: Log): () => boolean {
  let isKilled = false;
  const timer = setInterval(() => {
    // A worker that was told to end has a time limit of its own.
    if (worker.isEnding() || worker.ping() < PINGS) return;
    clearInterval(timer);
    log.error({ worker: worker.process, pid: worker.pid, timeoutMs }, 'worker process does not answer; killing it');
    isKilled = true;
    worker.kill();
  }, timeoutMs / PINGS);
  timer.unref();
  void worker.exited.then(() => clearInterval(timer));
  return () => isKilled;
}
