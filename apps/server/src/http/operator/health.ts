import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';

/** The checks of what the service needs to answer. Each resolves, or rejects with the reason, within a short time. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** `/livez`: the process runs. `/readyz`: it can answer requests. `/metrics`: Prometheus metrics. */
export function healthEndpoints(app: FastifyInstance, checks: ReadinessChecks, metrics: Metrics): void {
  /** Runs all checks. */
  async function runChecks() {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => {
        const problem = await check().then(
          () => null,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        );
        return [name, problem ?? 'ok'] as const;
      }),
    );
    const ready = results.every(([, result]) => result === 'ok');
    metrics.ready.set(ready ? 1 : 0);
    return { ready, results };
  }

  app.get('/livez', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const { ready, results } = await runChecks();
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) });
  });

  app.get('/metrics', async (_request, reply) => {
    // A monitor that only scrapes metrics must see the current readiness too.
    await runChecks();
    return reply.type(metrics.contentType).send(await metrics.render());
  });
}
