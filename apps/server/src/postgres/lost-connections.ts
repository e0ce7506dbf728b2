import type pg from 'pg';

/**
 * Keeps a lost connection of a pool from ending the process: one that is idle, one that is being handed out, or one
 * between two statements. Without a listener, the event would be an uncaught exception. The next statement reports it.
 */
export function surviveLostConnections(pool: pg.Pool, onIdleLost: (error: Error) => void = () => {}): void {
  pool.on('error', onIdleLost);
  pool.on('connect', (client) => client.on('error', () => {}));
}
