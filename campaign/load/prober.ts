import { Pool } from 'undici';

/** A client that sends a request at each interval, whether the last one was answered or not. */
export interface Prober {
  /** What was sent from this time on (performance.now()) and answered or failed by now. */
  since(startMs: number): readonly Probe[];
  stop(): Promise<void>;
}

export interface Probe {
  /** When it was due, on performance.now(). */
  readonly dueMs: number;
  /** From when it was due, so that a late sender hides nothing. */
  readonly tookMs: number;
  /** null: no answer. */
  readonly status: number | null;
}

export interface ProberOptions {
  readonly url: string;
  readonly path: (index: number) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly intervalMs: number;
}

const CONNECTIONS = 16;
const TIMEOUT_MS = 10_000;

export function startProber({ url, path, headers, intervalMs }: ProberOptions): Prober {
  const pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  const probes: Probe[] = [];
  const inFlight = new Set<Promise<void>>();
  const startMs = performance.now();
  let sent = 0;

  async function send(index: number, dueMs: number): Promise<void> {
    let status: number | null = null;
    try {
      const response = await pool.request({ path: path(index), method: 'GET', headers });
      await response.body.dump();
      status = response.statusCode;
    } catch {
      // Without an answer.
    }
    probes.push({ dueMs, tookMs: performance.now() - dueMs, status });
  }

  const timer = setInterval(
    () => {
      for (let dueMs = startMs + sent * intervalMs; dueMs <= performance.now(); dueMs = startMs + sent * intervalMs) {
        const sending = send(sent, dueMs).finally(() => inFlight.delete(sending));
        inFlight.add(sending);
        sent += 1;
      }
    },
    Math.max(intervalMs / 2, 1),
  );

  return {
    since: (fromMs) => probes.filter(({ dueMs }) => dueMs >= fromMs),
    async stop() {
      clearInterval(timer);
      await Promise.all(inFlight);
      await pool.close();
    },
  };
}

/** The time within which this share of the probes was answered; NaN of none. */
export function quantileMs(probes: readonly Probe[], share: number): number {
  const sorted = probes.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] ?? Number.NaN;
}
