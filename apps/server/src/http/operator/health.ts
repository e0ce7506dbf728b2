import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';

/** What must work for the service to answer; each resolves, or rejects with the reason, and does not take long over it. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** `/livez`: the process runs. `/readyz`: it can answer. `/metrics`: what it counted. On the operator listener. */
export function healthEndpoints(app: FastifyInstance, checks: ReadinessChecks, metrics: Metrics): void {
  /** What came of each check. */
  async function judge() {
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
    const { ready, results } = await judge();
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) });
  });

  app.get('/metrics', async (_request, reply) => {
    // Whoever only scrapes is told the truth too.
    await judge();
    return reply.type(metrics.contentType).send(await metrics.render());
  });
}
