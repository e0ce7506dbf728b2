import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, test } from 'node:test';
import { UPLOAD_BYTES_MAX } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { validationsOf } from './validations.ts';

const ROW = { bank_code: 'BRI', account_number: '8260370404' };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

/** Regression: four connections that announced 16 MiB each and sent nothing blocked the uploads of all clients. */
test('a client that announces uploads and sends nothing does not block other clients', async (t) => {
  const silent = Array.from({ length: 5 }, () =>
    request(`${service.url}/api/v1/account-validations`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${service.alpha.token}`,
        'content-type': 'application/json',
        'content-length': UPLOAD_BYTES_MAX,
      },
    }).on('error', () => {}),
  );
  t.after(() => {
    for (const each of silent) each.destroy();
  });
  const rejected = Promise.any(silent.map((each) => once(each, 'response') as Promise<[IncomingMessage]>));
  for (const each of silent) each.flushHeaders();
  // The client has announced as much as it may.
  assert.equal((await rejected)[0].statusCode, 503);
  const large = Array.from({ length: 1_000 }, () => ({ ...ROW, reference: 'x'.repeat(100) }));
  assert.equal((await validationsOf(service).sendRows(large.slice(0, 1))).status, 202);
  const { sendRows } = validationsOf(service, service.beta);
  for (const rows of [large.slice(0, 1), large]) {
    const { status, text } = await sendRows(rows);
    assert.equal(status, 202, text);
  }
});
