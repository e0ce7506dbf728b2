import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { Type } from 'typebox';
import { hashSecret, matchesSecret } from '../../auth/secrets.ts';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { OPEN_METRICS, OPEN_METRICS_CONTENT_TYPE, toOpenMetrics } from '../../observability/open-metrics.ts';
import type { ParentLink } from '../../workers/parent-link.ts';
import { ApiError, unavailable } from '../errors.ts';
import { preferredType } from '../request-headers.ts';
import { errorEnvelope, errorResponses, UNAUTHENTICATED_ERRORS } from '../schemas.ts';

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
  /** `ok`, or the reason why it fails or is not known, by the name of the check. */
  readonly checks: Readonly<Record<string, string>>;
}

const common = { tags: ['Health'], security: [] };
const errors = errorResponses([], UNAUTHENTICATED_ERRORS);

const livezSchema = {
  ...common,
  operationId: 'getLiveness',
  summary: 'Whether the process runs',
  description: 'Restart a process that does not answer.',
  response: {
    200: Type.Object(
      { status: Type.Literal('ok') },
      { title: 'Liveness', additionalProperties: false, description: 'It runs.' },
    ),
    ...errors,
  },
};

const ReadinessSchema = Type.Object(
  {
    status: Type.Enum(['ok', 'degraded', 'unavailable'], { title: 'ReadinessStatus' }),
    checks: Type.Record(Type.String(), Type.String(), {
      description: '`ok`, or the reason why it fails or is not known, by the name of the check.',
    }),
  },
  { title: 'Readiness', additionalProperties: false },
);

const READY = { status: 'ok', checks: { service: 'ok', postgres: 'ok', postgres_writes: 'ok' } };
const WITHOUT_POSTGRES = {
  status: 'unavailable',
  checks: {
    service: 'ok',
    postgres: 'PostgreSQL does not answer',
    postgres_writes: 'not known: PostgreSQL does not answer',
  },
};

const readyzSchema = {
  ...common,
  operationId: 'getReadiness',
  summary: 'Whether the process can answer requests',
  description: 'Send no requests to a process that answers 503. `degraded` means that it answers a part of them.',
  response: {
    ...errors,
    200: { ...ReadinessSchema, description: 'It can answer.', examples: [READY] },
    503: {
      oneOf: [ReadinessSchema, errorEnvelope('SERVICE_UNAVAILABLE')],
      description: 'It cannot answer, or it is stopping; in the envelope, when there are too many open connections.',
      examples: [WITHOUT_POSTGRES],
    },
  },
};

const metricsSchema = {
  ...common,
  operationId: 'getMetrics',
  summary: 'Metrics for Prometheus',
  description:
    'The metrics of this process (docs/operating.md, "Monitoring"). TIBA_METRICS_TOKEN makes them require a token.',
  response: {
    200: {
      description: 'The text format of Prometheus, or OpenMetrics where `Accept` asks for it.',
      content: {
        'text/plain': { schema: Type.String({ examples: ['tiba_ready 1\n'] }) },
        [OPEN_METRICS]: { schema: Type.String({ examples: ['tiba_ready 1\n# EOF\n'] }) },
      },
    },
    ...errorResponses([], [...UNAUTHENTICATED_ERRORS, 'UNAUTHORIZED']),
  },
};

export interface HealthDependencies {
  readonly checks: ReadinessChecks;
  readonly metrics: Metrics;
  /** Brings the gauges of the metrics up to date. */
  readonly readGauges: () => Promise<void>;
  /** Of one of several processes, whose metrics are rendered with those of the others. */
  readonly parent: Pick<ParentLink, 'parentId' | 'onMetricsRequest' | 'renderMetrics'> | null;
  /** That `/metrics` requires; null if it requires none. */
  readonly metricsToken: string | null;
}

/** All metrics as `/metrics` has them. @throws ApiError SERVICE_UNAVAILABLE while the parent process does not answer */
export type RenderMetrics = () => Promise<string>;

/**
 * `/livez`: the process runs. `/readyz`: it can answer requests. `/metrics`: Prometheus metrics; the function that is
 * returned renders them.
 */
export function healthEndpoints(
  app: FastifyInstance,
  { checks, metrics, readGauges, parent, metricsToken }: HealthDependencies,
): RenderMetrics {
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

  // A monitor that only scrapes metrics must see the current readiness too.
  const refresh = (): Promise<unknown> => Promise.all([readiness(), readGauges()]);
  parent?.onMetricsRequest(async () => {
    await refresh();
    return metrics.snapshot();
  });

  async function renderMetrics(): Promise<string> {
    if (parent !== null) return parent.renderMetrics().catch(noMetrics);
    await refresh();
    return metrics.render();
  }

  app.get('/livez', { schema: livezSchema }, async () => ({ status: 'ok' }));

  app.get('/readyz', { schema: readyzSchema }, async (_request, reply) => {
    const answer = await readiness();
    return reply
      .code(answer.status === 'unavailable' ? 503 : 200)
      .header('cache-control', 'no-store')
      .send(answer);
  });

  const onRequest = metricsToken === null ? [] : [requireToken(metricsToken)];
  app.get('/metrics', { schema: metricsSchema, onRequest }, async (request, reply) => {
    const text = await renderMetrics();
    if (preferredType(request.headers.accept, [OPEN_METRICS, 'text/plain']) === OPEN_METRICS)
      return reply.type(OPEN_METRICS_CONTENT_TYPE).send(toOpenMetrics(text, metrics.exemplars()));
    return reply.type(metrics.contentType).send(text);
  });
  return renderMetrics;
}

/** In constant time. Prometheus sends it by `authorization.credentials_file`. */
function requireToken(token: string): onRequestHookHandler {
  const expected = hashSecret(`Bearer ${token}`);
  return (request, _reply, done) => {
    const { authorization = '' } = request.headers;
    const isRight = matchesSecret(authorization, expected);
    done(isRight ? undefined : new ApiError('UNAUTHORIZED', { message: METRICS_TOKEN, headers: CHALLENGE }));
  };
}

const METRICS_TOKEN = englishOnly(
  'Invalid or expired token: send the token of TIBA_METRICS_TOKEN as Authorization: Bearer <token>',
);
const CHALLENGE = { 'www-authenticate': 'Bearer realm="tiba metrics"' };

const METRICS_RETRY_MS = 5_000;

/** The totals of this process alone would look like counters that were set back. */
function noMetrics(): never {
  throw unavailable(
    englishOnly('the parent process does not answer. Scrape the metrics again later'),
    METRICS_RETRY_MS,
  );
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
