import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../observability/metrics.ts';

/** What must work for the service to answer; each resolves, or rejects with the reason. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<void>>>;

/** `/livez`: the process runs. `/readyz`: it can answer. `/metrics`: what it counted. On the operator listener. */
export function health(app: FastifyInstance, checks: ReadinessChecks, metrics: Metrics): void {
  app.get('/livez', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
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
    return reply
      .code(ready ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) });
  });

  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.render()));
}
