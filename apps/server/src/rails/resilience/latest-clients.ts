/** When clients were last seen, in constant memory. */
export interface LatestClients {
  saw(clientId: string, nowMs: number): void;
  /** When a client other than this one was last seen; -Infinity if none was. */
  lastOtherMs(clientId: string): number;
}

export function createLatestClients(): LatestClients {
  let latest: string | null = null;
  let latestMs = Number.NEGATIVE_INFINITY;
  /** When a client other than `latest` was last seen. */
  let otherMs = Number.NEGATIVE_INFINITY;
  return {
    saw(clientId, nowMs) {
      if (clientId !== latest) {
        otherMs = latestMs;
        latest = clientId;
      }
      latestMs = nowMs;
    },
    lastOtherMs: (clientId) => (clientId === latest ? otherMs : latestMs),
  };
}
