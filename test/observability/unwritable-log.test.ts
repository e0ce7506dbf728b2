import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync } from 'node:fs';
import { suite, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type ServedProcess, startServedProcess } from './served-process.ts';

/**
 * Regression: a full disk under the log made every request time out, and a pipe that was not read kept the process from
 * ending.
 */

const DROPPED = 'tiba_log_lines_dropped_total';
const STOPPED_WITHIN_MS = 10_000;
/** What the service buffers, what the pipe holds, and the lines of one write. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024 + 256 * 1024;

const hasDropped =
  (service: ServedProcess, more = 0) =>
  async (): Promise<boolean> =>
    (await service.metric(DROPPED)) > more;

async function assertStops(service: ServedProcess): Promise<void> {
  const { code, tookMs } = await service.terminate();
  assert.equal(code, 0);
  assert.ok(tookMs < STOPPED_WITHIN_MS, `stopped after ${tookMs} ms`);
}

suite('a log that cannot be written: no request fails, lines past a bound are dropped and counted', () => {
  const skip = existsSync('/dev/full') ? false : 'this system has no /dev/full';

  test('standard output on a full disk; SIGTERM exits with 0', { skip }, async (t) => {
    const full = openSync('/dev/full', 'w');
    t.after(() => closeSync(full));
    const service = await startServedProcess(t, full);
    await service.loadUntil('lines are dropped', hasDropped(service));
    await assertStops(service);
  });

  test('a pipe that is not read; SIGTERM exits with 0', async (t) => {
    const service = await startServedProcess(t, 'pipe');
    await service.loadUntil('lines are dropped', hasDropped(service));
    await assertStops(service);
  });

  test('a pipe that is read again: every line is whole, kept lines are bounded, and the gap is logged', async (t) => {
    const service = await startServedProcess(t, 'pipe');
    const sent = await service.loadUntil('lines are dropped', hasDropped(service, 1_000));
    const dropped = await service.metric(DROPPED);
    let output = '';
    service.child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await eventually('the gap is logged', () => output.includes('log lines dropped'));
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.ok(output.length < KEPT_BYTES_MAX, `${output.length} bytes were kept`);
    const answered = lines.filter(({ errorCode }) => errorCode === 'TRANSACTION_NOT_FOUND').length;
    assert.ok(answered + dropped >= sent, `${sent} requests: ${answered} lines written, ${dropped} dropped`);
    assert.equal(
      lines.find(({ msg }) => String(msg).startsWith('log lines dropped'))?.['lines'],
      await service.metric(DROPPED),
    );
    await assertStops(service);
  });

  test('a pipe whose reader has gone; SIGTERM exits with 0', async (t) => {
    const service = await startServedProcess(t, 'pipe');
    service.child.stdout?.destroy();
    await service.loadUntil('lines are dropped', hasDropped(service));
    await assertStops(service);
  });
});
