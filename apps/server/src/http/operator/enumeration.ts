import type { FastifyInstance } from 'fastify';
import type { EnumerationGuard, RestrictedClient } from '../../account-checks/enumeration/enumeration-guard.ts';
import type { Authorize } from '../authorize.ts';
import { sendOperatorSuccess } from '../envelope.ts';
import { restrictedClientsSchema } from './list-schemas.ts';

/** Lists the clients that this process restricts because their checks look like account enumeration. */
export function listRestrictedClients(
  app: FastifyInstance,
  authorize: Authorize,
  enumerationGuard: Pick<EnumerationGuard, 'restrictedClients'>,
): void {
  const options = { onRequest: authorize({ scope: 'operator:read' }), schema: restrictedClientsSchema };
  app.get('/operator/v1/enumeration', options, async (_request, reply) => {
    const data = JSON.stringify({ clients: enumerationGuard.restrictedClients().map(clientJson) });
    return sendOperatorSuccess(reply, 'Restricted clients found', data);
  });
}

const clientJson = ({
  clientId,
  accountsToday,
  accountsPerDay,
  restrictions,
}: RestrictedClient): Record<string, unknown> => ({
  client_id: clientId,
  accounts_today: accountsToday,
  accounts_per_day: accountsPerDay,
  signals: restrictions.map(({ signal, level, figure, since, until }) => ({
    signal,
    level,
    figure: Math.round(figure * 100) / 100,
    since,
    until,
  })),
});
