import type { BenchContext } from './bench-context.ts';
import type { BenchDatabase } from './database/databases.ts';
import { NUMBER } from './load/load.ts';
import { recordResponse } from './load/record.ts';
import type { Target } from './measure.ts';
import { CHECK_STATUS_PATH, checkStatusRequests, headers } from './requests.ts';
import { type Service, startBaselineServer } from './services.ts';
import { verifyBaselineServer } from './verify.ts';

/** A server without anything but `node:http`. It answers each request as this service answers a status check. */
export async function startBaseline(
  context: BenchContext,
  { address }: Pick<Service, 'address'>,
  database: BenchDatabase,
): Promise<Target> {
  const recorded = await recordResponse(
    address.publicUrl + CHECK_STATUS_PATH.replace(NUMBER, '0000000000'),
    headers(address.token),
  );
  const server = await startBaselineServer(context, recorded);
  await verifyBaselineServer(server.address.url, recorded);
  return {
    title: 'baseline: node:http, same response',
    pid: server.pid,
    requests: checkStatusRequests(server.address.url, address.token, database),
  };
}
