import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportOf } from '../../packages/cli/src/errors.ts';
import { TibaError } from '../../packages/client/src/errors.ts';

/** Regression: the message told a reader of the command line to set `timeoutMs`, an option of the client package. */
test('no answer in time: the report names what a reader of the command line can do', () => {
  const message = 'no answer within 30000 ms. Repeat it, or give it more time with timeoutMs.';
  const error = new TibaError({ error_code: 'TIMEOUT', operation: 'checkStatus', message });
  const report = reportOf(error);
  assert.equal(report.error_code, 'TIMEOUT');
  assert.doesNotMatch(`${report.message} ${report.advice}`, /timeoutMs/);
  assert.match(String(report.advice), /Run the command again, or `tiba doctor`/);
});
