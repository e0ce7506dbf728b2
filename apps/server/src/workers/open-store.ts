/** What processes have open at the same time, as the script COUNT_OPEN of Valkey counts it (valkey/scripts.ts). */
export interface OpenStore {
  count(keys: readonly string[], args: readonly (string | number)[], nowMs: number): 0 | 1;
  /** Forgets the processes that were not heard for their lease. */
  sweep(nowMs: number): void;
}

interface Open {
  readonly count: number;
  readonly expiresMs: number;
}

export function createOpenStore(): OpenStore {
  /** By the key, then by the process. */
  const openByKey = new Map<string, Map<string, Open>>();

  function dropExpired(key: string, processes: Map<string, Open>, nowMs: number): void {
    for (const [processId, { expiresMs }] of processes) if (expiresMs <= nowMs) processes.delete(processId);
    if (processes.size === 0) openByKey.delete(key);
  }

  return {
    count([key = ''], args, nowMs) {
      const processId = String(args[0]);
      const [own, limit, leaseMs] = args.slice(1).map(Number) as [number, number, number];
      const processes = openByKey.get(key) ?? new Map<string, Open>();
      if (own === 0) processes.delete(processId);
      dropExpired(key, processes, nowMs);
      if (own === 0) return 1;
      let others = 0;
      for (const [other, { count }] of processes) if (other !== processId) others += count;
      if (others + own > limit) return 0;
      processes.set(processId, { count: own, expiresMs: nowMs + leaseMs });
      openByKey.set(key, processes);
      return 1;
    },
    sweep(nowMs) {
      for (const [key, processes] of openByKey) dropExpired(key, processes, nowMs);
    },
  };
}
