import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import program from '../../../../../package.json' with { type: 'json' };
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { accessToken, errorResponses, MEMORY_ERRORS, nullable, successResponse } from '../schemas.ts';

const ENVIRONMENTS = ['sandbox', 'staging', 'production'] as const;

export interface ConsoleSettings {
  readonly environment: (typeof ENVIRONMENTS)[number];
  /** Addresses with placeholders; null for no link. */
  readonly logUrl: string | null;
  readonly traceUrl: string | null;
}

/** What the console shows around its pages, and what it links to. */
export function showConsoleSettings(app: FastifyInstance, authorize: Authorize, settings: ConsoleSettings): void {
  const data = JSON.stringify({
    version: program.version,
    environment: settings.environment,
    log_url: settings.logUrl,
    trace_url: settings.traceUrl,
  });
  app.get(
    '/operator/v1/console',
    { onRequest: authorize({ scope: 'operator:read' }), schema },
    async (_request, reply) => sendOperatorSuccess(reply, 'Settings found', data),
  );
}

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const schema = {
  tags: ['Health'],
  security: accessToken('operator:read'),
  operationId: 'getConsoleSettings',
  summary: 'Read the settings of the console',
  description: 'Which installation this is, and where the console links to.',
  response: {
    200: successResponse(
      Type.Object(
        {
          version: text('The version of Tiba.', '0.1.0'),
          environment: Type.Enum([...ENVIRONMENTS], { title: 'InstallationEnvironment' }),
          log_url: nullable(
            text('Of logs, with placeholders (TIBA_CONSOLE_LOG_URL).', 'https://logs.example.com/?q={transaction_id}'),
            'null for no link.',
          ),
          trace_url: nullable(
            text('Of traces (TIBA_CONSOLE_TRACE_URL).', 'https://traces.example.com/?q={transaction_id}'),
            'null for no link.',
          ),
        },
        { title: 'ConsoleSettings', additionalProperties: false },
      ),
      englishOnly('Settings found'),
      'The settings.',
    ),
    ...errorResponses([], MEMORY_ERRORS),
  },
};
