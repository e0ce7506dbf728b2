// The baseline for requests, what HTTP alone costs in Node: no routing, no checks, one recorded response to every
// request.

import { createServer } from 'node:http';
import { listenOnLoopback, runAsChild } from '../as-child.ts';
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
  const { url, close } = await listenOnLoopback(server);
  return { address: { url }, close: async () => close() };
});
