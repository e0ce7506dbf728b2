import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';

/** Checks by name. Each resolves, or rejects with the reason, within a short time. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

export interface ReadinessChecks {
  /** Without these the service cannot answer: it is unavailable. */
  readonly required: Checks;
  /** Without these it answers a part of the requests: it is degraded. */
  readonly desired: Checks;
  /** These tell the operator what to look at, and change no status. */
  readonly informational: Checks;
}

interface Readiness {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  /** `ok`, or the reason, by the name of the check. */
  readonly checks: Readonly<Record<string, string>>;
}

/** `/livez`: the process runs. `/readyz`: it can answer requests. `/metrics`: Prometheus metrics. */
export function healthEndpoints(
  app: FastifyInstance,
  checks: ReadinessChecks,
  metrics: Metrics,
  readGauges: () => Promise<void>,
): void {
  async function readiness(): Promise<Readiness> {
    const [required, desired, informational] = await Promise.all([
      run(checks.required),
      run(checks.desired),
      run(checks.informational),
    ]);
    const status = !allOk(required) ? 'unavailable' : allOk(desired) ? 'ok' : 'degraded';
    metrics.ready.set(status === 'unavailable' ? 0 : 1);
    metrics.degraded.set(status === 'degraded' ? 1 : 0);
    return { status, checks: { ...required, ...desired, ...informational } };
  }

  app.get('/livez', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const answer = await readiness();
    return reply
      .code(answer.status === 'unavailable' ? 503 : 200)
      .header('cache-control', 'no-store')
      .send(answer);
  });

  app.get('/metrics', async (_request, reply) => {
    // A monitor that only scrapes metrics must see the current readiness too.
    await Promise.all([readiness(), readGauges()]);
    return reply.type(metrics.contentType).send(await metrics.render());
  });
}

async function run(checks: Checks): Promise<Record<string, string>> {
  const results = Object.entries(checks).map(async ([name, check]) => {
    const problem = await check().then(
      () => 'ok',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return [name, problem] as const;
  });
  return Object.fromEntries(await Promise.all(results));
}

const allOk = (results: Readonly<Record<string, string>>): boolean =>
  Object.values(results).every((result) => result === 'ok');
