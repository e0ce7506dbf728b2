import type { FastifyInstance } from 'fastify';
import type { IssueAccessToken } from '../auth/access-tokens.ts';
import type { SigningKeys } from '../auth/signing-keys.ts';
import type { BankDirectory } from '../domain/bank.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { accountValidationOperations } from './account-validations/account-validations.ts';
import type { AccountValidationParts } from './account-validations/parts.ts';
import { type BankParts, readBanks } from './banks/banks.ts';
import { callbackOperations } from './callbacks/callbacks.ts';
import type { CallbackParts } from './callbacks/parts.ts';
import { type CheckAccountParts, checkAccount } from './check-account/check-account.ts';
import { type CheckStatusParts, checkStatus } from './check-status/check-status.ts';
import { readEvents } from './events/events.ts';
import type { Gate } from './gate.ts';
import { readJsonBodies } from './json-body.ts';
import { createListener, type ListenerOptions } from './listener.ts';
import { authorizationServerMetadata } from './oauth/metadata.ts';
import { type TokenEndpointParts, tokenEndpoint } from './oauth/token.ts';
import { refuseOtherMethods } from './other-methods.ts';
import { describeApi, publishApi } from './reference.ts';

export interface PublicParts {
  readonly listener: Omit<ListenerOptions, 'name' | 'requestTimeoutMs'>;
  readonly gate: Gate;
  readonly database: Database;
  readonly callbacks: Omit<CallbackParts, 'gate' | 'database'>;
  readonly status: Omit<CheckStatusParts, 'gate'>;
  readonly banks: BankDirectory;
  readonly inquiries: AccountInquiries;
  readonly durations: BankParts['durations'];
  readonly validations: Omit<AccountValidationParts, 'gate' | 'banks' | 'inquiries'>;
  readonly accountChecks: CheckAccountParts['accountChecks'];
  /** Null when an external issuer gives the tokens. */
  readonly issuer: BuiltInIssuer | null;
}

export interface BuiltInIssuer {
  readonly url: () => string;
  readonly keys: SigningKeys;
  readonly issue: IssueAccessToken;
  readonly endpoint: Omit<TokenEndpointParts, 'issue'>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** The listener for clients: the document's operations, events and callbacks, login, and the API's description. */
export async function createPublicListener(parts: PublicParts): Promise<FastifyInstance> {
  const app = createListener({ ...parts.listener, name: 'public', requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const refuseRest = refuseOtherMethods(app);
  readJsonBodies(app);

  await describeApi(app);
  checkStatus(app, { ...parts.status, gate: parts.gate });
  checkAccount(app, parts);
  readBanks(app, parts);
  const { gate, banks, inquiries } = parts;
  await accountValidationOperations(app, { ...parts.validations, gate, banks, inquiries });
  readEvents(app, parts.gate, parts.database);
  callbackOperations(app, { ...parts.callbacks, gate: parts.gate, database: parts.database });
  if (parts.issuer !== null) {
    tokenEndpoint(app, { ...parts.issuer.endpoint, issue: parts.issuer.issue });
    authorizationServerMetadata(app, parts.issuer.url, parts.issuer.keys);
  }
  publishApi(app);
  refuseRest();
  return app;
}
