import { openRawConnection, rawRequest } from '../test/contract/raw-connection.ts';
import { measureBareServer } from './load/bare-server.ts';
import { describeFlooding, type Flooding, floodService, requestTo } from './load/flooded-service.ts';
import { type LoadedService, openLogFile, type Setting, startService } from './load/setting.ts';
import { partOf, type RowResult, unless } from './load/table.ts';
import { machineLoad } from './load/watch.ts';
import type { PartOptions } from './part.ts';

/** Each for the `seconds` of the options. */
const FLOODINGS: readonly Flooding[] = (['public', 'operator'] as const).flatMap((listener) =>
  [50, 500].flatMap((connections) =>
    [true, false].flatMap((isRead) => [false, true].map((hasToken) => ({ listener, connections, isRead, hasToken }))),
  ),
);

/** Of another client's status checks. */
const P99_MAX_MS = 100;
const GROWTH_MAX_MIB = 150;
const LOG_MAX_MIB = 2;
const NORMAL_WITHIN_MS = 5_000;
const SMALL_HEAP = ['--max-old-space-size=128'];
/** The share of the time for which a service with a small heap, and the server to compare with, are flooded. */
const SHORT_SHARE = 6;
/** At most this share of another client's requests may be rejected for the load. */
const REJECTED_SHARE_MAX = 0.001;
const IN_ORDER = 1_000;

async function measure(setting: Setting, flooding: Flooding, options: PartOptions): Promise<RowResult> {
  const full = await floodService(setting, flooding, options, []);
  const short = { ...options, seconds: Math.max(options.seconds / SHORT_SHARE, 2) };
  const small = await floodService(setting, flooding, short, SMALL_HEAP);
  const bare = await measureBareServer(requestTo(flooding, 'none'), flooding, short);
  const { p99Ms, quietP99Ms, growthMib, logMib, normalMs, healthMs, rejected, answered } = full;
  const total = answered + rejected;
  return {
    figures: [
      `p99 ${p99Ms.toFixed(0)} ms (quiet ${quietP99Ms.toFixed(0)}, bare ${bare.p99Ms.toFixed(0)})`,
      `livez ${healthMs.toFixed(0)} ms`,
      `rss +${growthMib.toFixed(0)} MiB (128 MB heap ${small.isAlive ? `+${small.growthMib.toFixed(0)}` : 'ended'}, ` +
        `bare ${bare.isAlive ? `+${bare.growthMib.toFixed(0)}` : 'ended'})`,
      `log ${logMib.toFixed(2)} MiB`,
      `normal ${(normalMs / 1_000).toFixed(1)} s`,
      `sent ${full.sentMib.toFixed(0)} MiB`,
      `failed ${rejected}/${total}`,
      machineLoad(),
    ],
    problems: [
      ...unless(full.isAlive, 'the service ended'),
      ...unless(small.isAlive, 'the service with a heap of 128 MB ended'),
      ...unless(p99Ms <= P99_MAX_MS, `99 % of another client's status checks took up to ${Math.round(p99Ms)} ms`),
      ...unless(growthMib <= GROWTH_MAX_MIB, `memory grew by ${Math.round(growthMib)} MiB`),
      ...unless(logMib <= LOG_MAX_MIB, `${logMib.toFixed(1)} MiB were logged`),
      ...unless(normalMs <= NORMAL_WITHIN_MS, `not normal after ${NORMAL_WITHIN_MS} ms`),
      ...unless(rejected / total <= REJECTED_SHARE_MAX, `${rejected} of another client's requests failed`),
    ],
  };
}

/** A client that pipelines, and reads, gets its answers in order. */
async function answersInOrder(setting: Setting): Promise<RowResult> {
  const log = await openLogFile(setting, 'service.log');
  const service = await startService(setting, log.fd);
  const startMs = performance.now();
  try {
    const wrong = await countOutOfOrder(service);
    return {
      figures: [`${IN_ORDER - wrong} in order`, `${(performance.now() - startMs).toFixed(0)} ms`, machineLoad()],
      problems: unless(wrong === 0, `${wrong} were not answered in order`),
    };
  } finally {
    await service.release();
    await log.close();
  }
}

async function countOutOfOrder({ url, tokens, statusPath }: LoadedService): Promise<number> {
  const connection = await openRawConnection(url);
  try {
    const headers = { authorization: `Bearer ${tokens.unlimited}` };
    const paths = Array.from({ length: IN_ORDER }, (_, index) => statusPath(index));
    connection.send(Buffer.concat(paths.map((target) => rawRequest('GET', target, { headers }))));
    let wrong = 0;
    for (const target of paths) {
      const answer = await connection.read();
      if (!target.endsWith(String(answer?.json.data?.['transaction_id']))) wrong += 1;
      if (answer === null) return IN_ORDER;
    }
    return wrong;
  } finally {
    connection.end();
  }
}

/** Clients that pipeline without a bound, and whether the others notice. */
export const pipelining = partOf([
  ...FLOODINGS.map((flooding) => ({
    name: describeFlooding(flooding),
    run: (setting: Setting, options: PartOptions) => measure(setting, flooding, options),
  })),
  { name: `${IN_ORDER} pipelined requests`, run: answersInOrder },
]);
