// The measure of what HTTP alone costs in Node: no routing, no checks, one recorded answer to every request.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { addressOf } from '../address-of.ts';
import { liveAsChild } from '../as-child.ts';
import type { RecordedAnswer } from '../load/record.ts';

export interface BareServerAddress {
  readonly url: string;
}

await liveAsChild<BareServerAddress>(async (settings) => {
  const { status, headers, body, keepAliveTimeoutMs } = settings as RecordedAnswer;
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
