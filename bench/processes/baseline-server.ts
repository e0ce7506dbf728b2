// The baseline for requests, what HTTP alone costs in Node: no routing, no checks, one recorded response to every
// request.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { addressOf, runAsChild } from '../as-child.ts';
import type { RecordedResponse } from '../load/record.ts';

export interface BaselineServerAddress {
  readonly url: string;
}

await runAsChild<BaselineServerAddress>(async (settings) => {
  const { status, headers, body, keepAliveTimeoutMs } = settings as RecordedResponse;
  const server = createServer({ keepAliveTimeout: keepAliveTimeoutMs }, (_request, response) => {
    response.writeHead(status, headers as string[]);
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: { url: addressOf(server) },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
});
