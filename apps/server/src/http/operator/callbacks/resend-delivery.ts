import type { FastifyInstance } from 'fastify';
import type { Database } from '../../../postgres/database.ts';
import { replayDelivery } from '../../../postgres/delivery-replays.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import type { Authorize } from '../../authorize.ts';
import { deliveryToJson } from '../../callbacks/delivery-resource.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { requireJson } from '../../request-body.ts';
import { actorOf, fieldsOf, reasonOf } from '../action-request.ts';
import { resendSchema } from '../action-schemas.ts';
import type { OperatorLimits } from '../operator-limits.ts';
import { textParameter } from '../transactions/search-filter.ts';

const DELIVERY_ID = /^(ep_[0-9a-f]{20})-([1-9][0-9]{0,14})$/;

type Resent = Awaited<ReturnType<typeof replayDelivery>>;

export interface ResendDeliveryDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly limits: Pick<OperatorLimits, 'countResend'>;
}

/** Sends one callback of any client again. */
export function resendDelivery(
  app: FastifyInstance,
  { authorize, database, limits }: ResendDeliveryDependencies,
): void {
  const onRequest = [authorize({ scope: 'operator:write', role: 'support' }), requireJson];

  app.post(
    '/operator/v1/callback-deliveries/:delivery_id/resend',
    { onRequest, schema: resendSchema },
    async (request, reply) => {
      const body = fieldsOf(request, ['client_id', 'reason']);
      const reason = reasonOf(request);
      const clientIdField = body['client_id'];
      const clientId = textParameter(typeof clientIdField === 'string' ? clientIdField : '', 'client_id') ?? '';
      const { delivery_id: deliveryId } = request.params as { delivery_id: string };
      const [, endpointId, sequence] = DELIVERY_ID.exec(deliveryId) ?? [];
      if (endpointId === undefined) throw new ApiError('DELIVERY_NOT_FOUND');
      const key = { clientId, endpointId, sequence: Number(sequence) };
      await limits.countResend(request);
      const delivery = await recordingAction<Resent>(database, actorOf(request), async (inside) => {
        const result = await replayDelivery(inside, key);
        if (typeof result === 'string') return { result, record: null };
        const { state, attempts } = result;
        const record = {
          action: 'delivery resend',
          clientId,
          subjectId: deliveryId,
          reason,
          before: null,
          after: JSON.stringify({ state, attempts }),
        };
        return { result, record };
      });
      if (delivery === 'not_found') throw new ApiError('DELIVERY_NOT_FOUND');
      if (delivery === 'disabled') throw new ApiError('ENDPOINT_DISABLED');
      return sendOperatorSuccess(reply, 'Delivery resent', JSON.stringify(deliveryToJson(delivery)));
    },
  );
}
