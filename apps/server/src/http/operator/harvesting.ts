import type { FastifyInstance } from 'fastify';
import type { Harvesting, HeldClient } from '../../account-checks/harvesting/harvesting.ts';
import { sendSuccess } from '../envelope.ts';
import type { Gate } from '../gate.ts';

/** Clients that ask as if they were collecting accounts, as this process has seen them. On the operator listener. */
export function operatorHarvesting(app: FastifyInstance, gate: Gate, harvesting: Pick<Harvesting, 'view'>): void {
  app.get('/operator/v1/harvesting', { onRequest: gate({ scope: 'operator:read' }) }, async (_request, reply) => {
    const data = JSON.stringify({ clients: harvesting.view().map(clientJson) });
    return sendSuccess(reply, 'Clients that are slowed or refused found', data);
  });
}

const clientJson = ({ clientId, accountsToday, accountsPerDay, trips }: HeldClient): Record<string, unknown> => ({
  client_id: clientId,
  accounts_today: accountsToday,
  accounts_per_day: accountsPerDay,
  signs: trips.map(({ sign, hold, figure, since, until }) => ({
    sign,
    hold,
    figure: Math.round(figure * 100) / 100,
    since,
    until,
  })),
});
