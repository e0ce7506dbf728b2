export type {
  AccountValidations,
  CreateOptions,
  ResultsOptions,
  ResultsQuery,
  TableUpload,
} from './account-validations.ts';
export type { AccountCheckFilter, AccountCheckOptions, Accounts } from './accounts.ts';
export type { AnswerDetails, Call, WithResponse } from './call.ts';
export type { Callbacks, DeliveryFilter } from './callback-endpoints.ts';
export type { StatusChecks } from './check-status.ts';
export { createTibaClient, type TibaClient, type TibaClientOptions } from './client.ts';
export type { Clock } from './clock.ts';
export { fromMinor, toMinor } from './decimal.ts';
export { type ErrorCode, TibaError, type TibaErrorDetails, type TibaErrorOf } from './errors.ts';
export type { EventCursor, Events, FollowOptions } from './events.ts';
export type * from './generated/api.ts';
export type { Credentials } from './token.ts';
export type { ExportFilter, TransactionFilter, Transactions } from './transactions.ts';
export type { CallOptions } from './transport.ts';
export type { WaitForFinal, WaitOptions } from './wait-for-final.ts';
