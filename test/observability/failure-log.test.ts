import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import pino from 'pino';
import { createFailureLog } from '../../apps/server/src/observability/failure-log.ts';
import { describeError } from '../../apps/server/src/observability/log.ts';
import { DatabaseUnavailable } from '../../apps/server/src/postgres/database.ts';

interface Line {
  readonly msg: string;
  readonly failures?: number;
  readonly warning?: string;
  readonly err?: { readonly message: string; readonly stack?: string; readonly cause?: Line['err'] };
}

const FAILED = 'counting sheep failed; will retry';

function failureLog() {
  const lines: Line[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    lines.push(JSON.parse(chunk.toString()));
    done();
  };
  const log = pino({ base: null, serializers: { err: describeError } }, new Writable({ write }));
  return { ...createFailureLog(log, FAILED), lines, messages: () => lines.map(({ msg }) => msg) };
}

const outage = (reason: string): DatabaseUnavailable => new DatabaseUnavailable(new Error(reason), true);

/** Regression: some eight loops each logged a stack every second while PostgreSQL was away. */
test('an outage is two lines: the first failure, and how many there were until it works again', () => {
  const { failed, succeeded, lines, messages } = failureLog();
  succeeded();
  for (const reason of ['ECONNREFUSED', 'the database system is starting up', 'ECONNREFUSED']) failed(outage(reason));
  assert.deepEqual(messages(), [FAILED]);
  succeeded();
  succeeded();
  assert.deepEqual(messages(), [FAILED, 'works again']);
  assert.equal(lines[1]?.failures, 3);
  assert.equal(lines[1]?.warning, FAILED);
  failed(outage('ECONNREFUSED'));
  assert.deepEqual(messages(), [FAILED, 'works again', FAILED]);
});

test('a line about an outage has the reason and no stack; one about a defect has its stack', () => {
  const { failed, lines } = failureLog();
  failed(outage('ECONNREFUSED'));
  assert.equal(lines[0]?.err?.cause?.message, 'ECONNREFUSED');
  assert.equal(lines[0].err.stack, undefined);
  assert.equal(lines[0].err.cause.stack, undefined);
  failed(new TypeError('sheep is not iterable'));
  assert.equal(lines[1]?.err?.message, 'sheep is not iterable');
  assert.match(lines[1].err.stack ?? '', /failure-log\.test/);
});

test('a defect during an outage is logged, and not each time', () => {
  const { failed, messages } = failureLog();
  failed(outage('ECONNREFUSED'));
  for (let time = 0; time < 3; time += 1) failed(new TypeError('sheep is not iterable'));
  assert.deepEqual(messages(), [FAILED, FAILED]);
});
