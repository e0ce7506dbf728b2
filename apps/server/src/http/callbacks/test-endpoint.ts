import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type CallbackMessage, endAttempt, succeeded } from '../../callbacks/send.ts';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { findSealedEndpoint } from '../../postgres/callback-endpoints.ts';
import type { Limiter } from '../../rate-limit/limiter.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { tooManyRequests } from '../errors.ts';
import { allowEmptyBody } from '../request-body.ts';
import { errorResponses, successResponse } from '../schemas.ts';
import { ATTEMPT_EXAMPLE, attemptFields } from './delivery-resource.ts';
import { endpointInPath, endpointInPathSchema, requireEndpoint } from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

/** Each test sends a request to an address that the client chose, so the number is limited. */
const TESTS_PER_MINUTE = 20;
const TEST_KIND = 'endpoint.test';

const MESSAGE: BilingualText = { en: 'Test sent', id: 'Callback uji coba dikirim' };

const schema = {
  ...callbackOperation,
  operationId: 'testCallbackEndpoint',
  summary: 'Send a test callback to an endpoint',
  description:
    `Sends one signed callback of type \`${TEST_KIND}\` at once and returns the result within 15 seconds. ` +
    `It is not retried and does not change the endpoint. At most ${TESTS_PER_MINUTE} tests per minute.`,
  params: endpointInPathSchema,
  response: {
    200: successResponse(
      Type.Object(
        {
          succeeded: Type.Boolean({ description: 'Whether the receiver answered with a 2xx.' }),
          webhook_id: Type.String({
            description: 'The ID of this test callback.',
            examples: ['test_5f0c1d2e3b4a59687786'],
          }),
          ...attemptFields,
        },
        {
          title: 'TestCallback',
          additionalProperties: false,
          examples: [{ succeeded: true, webhook_id: 'test_5f0c1d2e3b4a59687786', ...ATTEMPT_EXAMPLE }],
        },
      ),
      MESSAGE,
      'The result of the attempt. The HTTP status is also 200 when the receiver rejected the callback.',
    ),
    ...errorResponses(['INVALID_FORMAT', 'ENDPOINT_NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']),
  },
};

export function testEndpoint(
  app: FastifyInstance,
  { authorize, database, send, testLimiter }: CallbackDependencies,
): void {
  const onRequest = [authorize(manageCallbacks), allowEmptyBody];

  app.post('/api/v1/callback-endpoints/:endpoint_id/test', { onRequest, schema }, async (request, reply) => {
    const key = endpointInPath(request);
    const endpoint = requireEndpoint(await findSealedEndpoint(database, key));
    await limitTests(testLimiter, callerOf(request).client.clientId);

    const message = testMessage(key.endpointId);
    const span = request.span?.begin('callback', 'producer', {
      'tiba.endpoint_id': key.endpointId,
      'tiba.event': TEST_KIND,
    });
    const result = await send({ ...key, ...endpoint }, message, span);
    if (span !== undefined) endAttempt(span, result);
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
    return sendSuccess(reply, MESSAGE, data);
  });
}

function testMessage(endpointId: string): CallbackMessage {
  const timestamp = new Date().toISOString();
  return {
    id: `test_${randomBytes(10).toString('hex')}`,
    body: JSON.stringify({ type: TEST_KIND, timestamp, data: { endpoint_id: endpointId } }),
  };
}

async function limitTests(limiter: Limiter, clientId: string): Promise<void> {
  const { admitted, resetMs } = await limiter.take(clientId, TESTS_PER_MINUTE);
  if (admitted) return;
  throw tooManyRequests(resetMs, {
    en: `At most ${TESTS_PER_MINUTE} tests per minute can be sent: wait for the number of seconds in Retry-After`,
    id:
      `Paling banyak ${TESTS_PER_MINUTE} uji coba per menit dapat dikirim: tunggu selama jumlah detik di ` +
      'Retry-After',
  });
}
