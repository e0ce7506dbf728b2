import { readFileSync } from 'node:fs';

/** How many files, connections included, this process may have open. Null where the system is not Linux. */
export function readOpenFilesMax(): number | null {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Standard streams, the log, listening sockets, and what Node needs for itself: 28 were open. */
const OWN_FILES = 32;

/**
 * How many connections one listener may have, of those for clients and of the operator's, where PostgreSQL leaves
 * `files` of the limit. A quarter of the rest is for banks, receivers and the reading of uploads. If clients held all
 * files, the process could not open another connection to PostgreSQL.
 */
export function connectionsWithin(
  files: number,
  clientListeners: number,
): { readonly public: number; readonly operator: number } {
  const rest = files - OWN_FILES;
  return { public: Math.max(1, Math.floor(rest / 2 / clientListeners)), operator: Math.max(1, Math.floor(rest / 4)) };
}
