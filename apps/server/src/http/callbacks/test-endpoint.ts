import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { CallbackMessage } from '../../callbacks/message.ts';
import { succeeded } from '../../callbacks/send.ts';
import { findSealedEndpoint } from '../../postgres/callback-endpoints.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { tooManyRequests } from '../errors.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { attemptFields } from './attempt-schema.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { endpointInPath, found } from './endpoint-path.ts';
import { endpointInPathSchema, onCallbacks } from './endpoint-schema.ts';

/** A test costs whoever has the address a request: not a thing to be had without bound. */
const TESTS_PER_MINUTE = 20;
const TEST_KIND = 'endpoint.test';

const schema = {
  ...onCallbacks,
  operationId: 'testCallbackEndpoint',
  summary: 'Send a test to a callback endpoint',
  description: `Sends one signed callback of type \`${TEST_KIND}\` at once and answers what came of it, within 15 seconds. It is not repeated, and changes nothing. At most ${TESTS_PER_MINUTE} in a minute.`,
  params: endpointInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        {
          succeeded: Type.Boolean({ description: 'Whether it was answered with a 2xx.' }),
          webhook_id: Type.String({ description: "The test's own." }),
          ...attemptFields,
        },
        { additionalProperties: false },
      ),
      'Test sent',
      'What came of it; a refusal is a success of this operation too.',
    ),
    ...errorResponses(['INVALID_FORMAT', 'ENDPOINT_NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};

export function testEndpoint(
  app: FastifyInstance,
  { authorize, database, send, testLimiter }: CallbackDependencies,
): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), allowEmptyBody];

  app.post('/api/v1/callback-endpoints/:endpoint_id/test', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const endpoint = found(await findSealedEndpoint(database, key));
    await count(testLimiter, callerOf(request).client.clientId);

    const message = testMessage(key.endpointId);
    const result = await send(endpoint, message);
    request.logFields = { endpoint: key.endpointId, answered: result.httpStatus };
    const data = JSON.stringify({
      succeeded: succeeded(result),
      webhook_id: message.id,
      started_at: result.startedAt.toISOString(),
      duration_ms: result.durationMs,
      http_status: result.httpStatus,
      answer: result.answer,
      error: result.error,
    });
    return sendSuccess(reply, 'Test sent', data);
  });
}

function testMessage(endpointId: string): CallbackMessage {
  const timestamp = new Date().toISOString();
  return {
    id: `test_${randomBytes(10).toString('hex')}`,
    body: JSON.stringify({ type: TEST_KIND, timestamp, data: { endpoint_id: endpointId } }),
  };
}

async function count(limiter: Limiter, clientId: string): Promise<void> {
  const { admitted, resetMs } = await limiter.take(`callback-test ${clientId}`, TESTS_PER_MINUTE);
  if (admitted) return;
  throw tooManyRequests(
    resetMs,
    `At most ${TESTS_PER_MINUTE} tests can be sent in a minute: wait for the number of seconds in Retry-After`,
  );
}
