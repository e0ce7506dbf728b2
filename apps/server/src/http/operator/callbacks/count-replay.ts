import { englishOnly } from '../../../lib/bilingual-text.ts';
import type { Database } from '../../../postgres/database.ts';
import {
  countReplay,
  type EventRange,
  type ReplayCount,
  type ReplayedState,
} from '../../../postgres/delivery-replays.ts';
import { ApiError } from '../../errors.ts';
import { invalidRequest } from '../../query-parameters.ts';

export interface CountDependencies {
  readonly database: Database;
  readonly callbackDays: number;
}

export interface CountedReplay {
  readonly clientId: string;
  readonly endpointIds: readonly string[];
  readonly events: EventRange;
  readonly deliveryState: ReplayedState | null;
}

/** Events in one statement: few enough that it ends well within the statement timeout. */
const EVENTS_PER_STATEMENT = 1_000;
/** No further statement starts after this time: what was counted until then is the answer. */
const BUDGET_MS = 1_500;

/** What a replay would send. @throws ApiError ENDPOINT_NOT_FOUND, ENDPOINT_DISABLED, INVALID_REQUEST */
export async function countEvents(
  { database, callbackDays }: CountDependencies,
  { clientId, endpointIds, events, deliveryState: state }: CountedReplay,
): Promise<Record<string, unknown>> {
  const sequences = new Set<number>();
  const transactionIds = new Set<string>();
  let deliveries = 0;
  let isComplete = true;
  const startedMs = performance.now();
  for (const endpointId of endpointIds) {
    let after: number | null = null;
    do {
      if (performance.now() - startedMs >= BUDGET_MS) {
        isComplete = false;
        break;
      }
      const range = { events, state, callbackDays, after, limit: EVENTS_PER_STATEMENT };
      const counted: ReplayCount = await countReplay(database, { clientId, endpointId }, range);
      if (counted.outcome !== 'counted') throw toApiError(counted);
      for (const sequence of counted.sequences) sequences.add(sequence);
      for (const transactionId of counted.transactionIds) transactionIds.add(transactionId);
      deliveries += counted.sequences.length;
      after = counted.nextAfter;
    } while (after !== null);
  }
  return {
    events: sequences.size,
    transactions: transactionIds.size,
    endpoints: endpointIds.length,
    deliveries,
    is_complete: isComplete,
  };
}

function toApiError(counted: Exclude<ReplayCount, { readonly outcome: 'counted' }>): ApiError {
  switch (counted.outcome) {
    case 'not_found':
      return new ApiError('ENDPOINT_NOT_FOUND');
    case 'disabled':
      return new ApiError('ENDPOINT_DISABLED');
    case 'too_old':
      return invalidRequest(
        englishOnly(
          `to must be after ${counted.from}: of earlier events the service no longer knows which ones are missing. ` +
            'Omit state to send all of them',
        ),
      );
  }
}
