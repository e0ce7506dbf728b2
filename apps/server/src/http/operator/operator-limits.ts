import type { FastifyRequest } from 'fastify';
import { englishOnly } from '../../lib/bilingual-text.ts';
import type { Decision, Limiter } from '../../rate-limit/limiter.ts';
import { callerOf } from '../authorize.ts';
import { tooManyRequests } from '../errors.ts';

/** The window of these limits: the limiters must have it. */
export const OPERATOR_WINDOW_MS = 60 * 60 * 1_000;
/** Masked answers show the last four digits: a few guesses an hour find no account number. */
const ACCOUNT_SEARCHES_PER_HOUR = 60;
const RESENDS_PER_HOUR = 100;

/** What one caller may do in an hour on the operator listener. @throws ApiError RATE_LIMIT_EXCEEDED */
export interface OperatorLimits {
  /** Counts a search by an account number: of a person, or of all access tokens of a client together. */
  countAccountSearch(request: FastifyRequest): Promise<void>;
  /** Counts a callback that a person or an access token sends again: many would be a replay without approval. */
  countResend(request: FastifyRequest): Promise<void>;
}

export interface OperatorLimitsDependencies {
  readonly accountSearches: Limiter;
  /** Of each client with access tokens. Software of a help desk searches for many people. */
  readonly tokenAccountSearchesPerHour: number;
  readonly resends: Limiter;
}

export function createOperatorLimits(dependencies: OperatorLimitsDependencies): OperatorLimits {
  const { accountSearches, tokenAccountSearchesPerHour, resends } = dependencies;
  return {
    async countAccountSearch(request) {
      const { client, person } = callerOf(request);
      const perHour = person === undefined ? tokenAccountSearchesPerHour : ACCOUNT_SEARCHES_PER_HOUR;
      assertAdmitted(await accountSearches.take(client.clientId, perHour), tooManySearches(perHour));
    },
    async countResend(request) {
      assertAdmitted(await resends.take(callerOf(request).client.clientId, RESENDS_PER_HOUR), TOO_MANY_RESENDS);
    },
  };
}

function assertAdmitted({ admitted, resetMs }: Decision, message: ReturnType<typeof englishOnly>): void {
  if (!admitted) throw tooManyRequests(resetMs, message);
}

const tooManySearches = (perHour: number) =>
  englishOnly(
    `At most ${perHour} searches by an account number in an hour: search by another identifier of the transaction, ` +
      'or wait for the number of seconds in Retry-After',
  );
const TOO_MANY_RESENDS = englishOnly(
  `At most ${RESENDS_PER_HOUR} callbacks can be sent again one by one in an hour: start or propose a replay (POST ` +
    '/operator/v1/callback-replays), or wait for the number of seconds in Retry-After',
);
