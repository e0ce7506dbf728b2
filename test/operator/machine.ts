import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { send, type TestService } from '../support/service.ts';
import type { Browser } from './browser.ts';

/** A program with an access token on the operator listener. It calls the same API as a person's browser. */
export type Machine = Pick<Browser, 'get' | 'act'>;

export async function addMachine(service: TestService, clientId: string, scopes: readonly Scope[]): Promise<Machine> {
  const { token } = await service.addClient(clientId, scopes);
  const url = (path: string): string => `${service.operatorUrl}/operator/v1/${path}`;
  const authorization = `Bearer ${token}`;
  return {
    get: (path, headers = {}) => send(url(path), { headers: { authorization, ...headers } }),
    act: (method, path, body, headers = {}) =>
      send(url(path), {
        method,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
  };
}
