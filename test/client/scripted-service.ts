import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { createTibaClient, type TibaClient, type TibaClientOptions } from '../../packages/client/src/index.ts';
import { exampleTransaction } from '../../packages/client/src/testing.ts';
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.ts';

/** Answers one request of the API; `count` is its number, from 1, logins not counted. */
export type Script = (response: ServerResponse, request: ReceivedRequest, count: number) => void;

export interface ScriptedService {
  readonly tiba: TibaClient;
  readonly receiver: HttpReceiver;
  /** Requests of the API so far, without logins. */
  readonly requests: ReceivedRequest[];
  logins(): number;
}

export type ScriptedOptions = Partial<TibaClientOptions> & {
  /** How many logins are answered with 503 before the first that succeeds. */
  readonly failedLogins?: number;
};

/** A server that logs clients in and otherwise answers as the test says: for faults that the real service has not. */
export async function startScriptedService(
  context: TestContext,
  script: Script,
  { failedLogins = 0, ...options }: ScriptedOptions = {},
): Promise<ScriptedService> {
  const requests: ReceivedRequest[] = [];
  let logins = 0;
  const receiver = await startHttpReceiver({
    context,
    respond(response, request) {
      if (request.path === '/oauth/token') {
        logins += 1;
        if (logins <= failedLogins) {
          sendError(response, 503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' });
          return;
        }
        const token = { access_token: `token-${logins}`, token_type: 'Bearer', expires_in: 900, scope: '' };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token));
        return;
      }
      requests.push(request);
      script(response, request, requests.length);
    },
  });
  const tiba = createTibaClient({
    baseUrl: receiver.url,
    clientId: 'alpha',
    clientSecret: 'secret',
    ...options,
  } as TibaClientOptions);
  return { tiba, receiver, requests, logins: () => logins };
}

export const sendTransaction = (
  response: ServerResponse,
  changes: Parameters<typeof exampleTransaction>[0] = {},
  headers: Record<string, string> = {},
): void => {
  const data = exampleTransaction(changes);
  const body = { success: true, message: 'Found', data, meta: { timestamp: data.created_at } };
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

export const IN_PROCESS = { status: 'PROCESS', processed_at: null } as const;

export const sendError = (
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
): void => {
  const body = { success: false, message: 'a message', error_code: code };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};
