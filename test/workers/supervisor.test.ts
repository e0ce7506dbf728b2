import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { startSupervisor } from '../../apps/server/src/workers/supervisor.ts';

test('a parent whose workers end as soon as they start tries again, later each time, and gives up', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)));
        done();
      },
    }),
  );
  const supervisor = await startSupervisor({
    count: 1,
    embeddedPostgres: null,
    stopTimeoutMs: 1_000,
    logging: { log, forward: (_lines, onBuffered) => onBuffered() },
    stopping: new Promise(() => {}),
    program: { file: fileURLToPath(new URL('ending-process.ts', import.meta.url)), args: [] },
  });
  await assert.rejects(supervisor.failed, { name: 'StartError', message: /end as soon as they start/ });
  await supervisor.stop();
  const started = lines.filter(({ msg }) => msg === 'worker process started');
  assert.equal(started.length, 5);
  const [first = Number.NaN, second = Number.NaN] = started.map(({ time }) => Number(time)).slice(-2);
  assert.ok(second - first >= 3_900, 'the last pause is the longest');
  const ended = lines.filter(({ msg }) => msg === 'worker process ended by itself; starting another');
  assert.equal(ended.length, 5);
  assert.ok(ended.every(({ reason, worker }) => reason === 3 && worker === 1));
});
