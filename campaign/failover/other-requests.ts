import { setTimeout as delay } from 'node:timers/promises';
import type { CallerRequest } from '../random/caller.ts';
import { bearer, type RoundContext } from '../random/round-context.ts';

const PAUSE_MS = 100;

/** What clients and operators ask less often than for a status: lists, documents, health. */
const TARGETS: readonly Pick<CallerRequest, 'target' | 'listener'>[] = [
  { target: '/api/v1/banks' },
  { target: '/api/v1/transactions?limit=50' },
  { target: '/api/v1/account-checks?limit=20' },
  { target: '/api/v1/account-validations' },
  { target: '/api/v1/callback-endpoints' },
  { target: '/api/v1/callback-deliveries?limit=20' },
  { target: '/openapi.json' },
  { target: '/operator/v1/processes', listener: 'operator' },
  { target: '/livez', listener: 'operator' },
  { target: '/metrics', listener: 'operator' },
];

/** Sends them one after the other, until the load ends. Each must be answered with 200. */
export async function sendOtherRequests({ caller, tokens, record, loadEnds }: RoundContext): Promise<void> {
  while (!loadEnds.aborted) {
    for (const request of TARGETS) {
      const token = request.listener === 'operator' ? tokens.operator : tokens.alpha;
      const answer = await caller.call({ ...request, headers: bearer(token) });
      if (answer !== null && answer.status < 500 && answer.status !== 200)
        record.wrong('a list or a document is not answered', `${request.target}: ${answer.status} ${answer.text}`);
      await delay(PAUSE_MS);
    }
  }
}
