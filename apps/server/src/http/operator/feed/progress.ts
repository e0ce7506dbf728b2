import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { FeedRun } from '../../../feed/feed.ts';
import type { FeedProgress } from '../../../feed/report.ts';

/** At most this often. A feed that ends sooner has no line of progress. */
const INTERVAL_MS = 1_000;

const HEADERS = { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-store' } as const;

/**
 * Answers with NDJSON: how far the feed is while it runs, and `result`, the answer in its envelope, as the last line.
 * The answer begins with the first line, so a feed that fails before it gets the HTTP status of its error: it is
 * thrown. After that the status is 200, and the last line has the error in its envelope: `failed` makes it.
 */
export async function sendWithProgress(
  reply: FastifyReply,
  run: FeedRun,
  { result, failed }: { readonly result: Promise<string>; readonly failed: (error: unknown) => string },
): Promise<FastifyReply> {
  const lines = new PassThrough();
  const begun = Promise.withResolvers<'begun'>();
  const timer = setInterval(() => {
    if (!lines.destroyed) lines.write(`${JSON.stringify(progressJson(run.progress()))}\n`);
    begun.resolve('begun');
  }, INTERVAL_MS);
  const ended = result.finally(() => clearInterval(timer));
  const first = await Promise.race([ended, begun.promise]);
  if (first === 'begun') {
    reply.request.endOfProgress = ended.catch(failed).then(
      (line) => void lines.end(`${line}\n`),
      // The connection breaks off: such an answer must not look complete.
      (error: Error) => void lines.destroy(error),
    );
  } else lines.end(`${first}\n`);
  return reply.headers(HEADERS).send(lines);
}

const progressJson = ({ linesRead, ...counts }: FeedProgress) => ({ lines_read: linesRead, ...counts });
