import { createTibaClient, type TibaClient, type TibaClientOptions } from '../../packages/client/src/index.ts';
import type { TestClient, TestService } from '../support/service.ts';

/** The client under test as a client of the service: alpha unless given. */
export const clientOf = (
  service: TestService,
  options: Partial<TibaClientOptions> = {},
  { clientId, clientSecret }: TestClient = service.alpha,
): TibaClient => createTibaClient({ baseUrl: service.url, clientId, clientSecret, ...options } as TibaClientOptions);

export interface CountedFetch {
  readonly fetch: typeof fetch;
  /** Method and path of each request so far. */
  readonly requests: string[];
  /** Requests whose answer has not come yet. */
  open(): number;
  /** Responses so far, by status. */
  readonly statuses: Map<number, number>;
}

/** The real `fetch`, with an account of what was sent. */
export function countFetch(): CountedFetch {
  const requests: string[] = [];
  const statuses = new Map<number, number>();
  let open = 0;
  return {
    requests,
    statuses,
    open: () => open,
    async fetch(input, init) {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      requests.push(`${init?.method ?? 'GET'} ${pathname}`);
      open += 1;
      try {
        const response = await fetch(input, init);
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        return response;
      } finally {
        open -= 1;
      }
    },
  };
}
