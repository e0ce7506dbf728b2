import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { matchNames } from '../../apps/server/src/name-match/name-match.ts';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { watchEventLoop } from './event-loop.ts';
import { storeResultsOf } from './stored-results.ts';
import { validationsOf } from './validations.ts';

describe('results of account validations', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service?.close());

  async function download(id: string, { token }: TestClient, accept: string): Promise<IncomingMessage> {
    const url = `${service.url}/api/v1/account-validations/${id}/results`;
    const [response] = (await once(
      get(url, { headers: { authorization: `Bearer ${token}`, accept } }),
      'response',
    )) as [IncomingMessage];
    return response;
  }

  /** Regression: a download was authorized only at its start, so a client that read slowly kept it open without end. */
  for (const accept of ['application/x-ndjson', 'text/csv']) {
    test(`a client that is disabled gets no more in ${accept}, and its download is aborted`, async () => {
      const client = await service.addClient(`slow-${accept.replace(/\W/g, '-')}`, ['account:check']);
      // Far more than the socket buffers take.
      const count = 25_000;
      const id = await storeResultsOf(service, client, { count, expectedName: 'x'.repeat(1_000) });
      const response = await download(id, client, accept);
      await once(response, 'readable');
      await changeClient(service.app.database, client.clientId, 'disable');
      await eventually(
        'the service knows that the client is disabled',
        () => service.app.clients.find(client.clientId)?.disabled === true,
      );
      let lines = 0;
      await assert.rejects(async () => {
        for await (const piece of response) lines += String(piece).split('\n').length - 1;
      }, /aborted/);
      assert.ok(lines > 0 && lines < count, `${lines} of ${count}`);
    });
  }

  /** Regression: a page of names that are slow to compare blocked all other requests for almost a second. */
  for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
    test(`names that are slow to compare do not block the event loop in ${accept}`, async (t) => {
      const count = 1_000;
      const id = await storeResultsOf(service, service.alpha, { count, ...SLOW_NAMES });
      const answer = (): Promise<Answer> => validationsOf(service).read(id, `/results?limit=${count}`, accept);
      const before = process.threadCpuUsage();
      for (let row = 1; row <= count; row += 1) matchNames(`${row} ${SLOW_NAMES.expectedName}`, SLOW_NAMES.heldName);
      const { user, system } = process.threadCpuUsage(before);
      const allMs = (user + system) / 1_000;

      const stopWatching = watchEventLoop();
      const answers = await Promise.all([answer(), answer(), answer(), answer()]);
      const longestMs = stopWatching();
      t.diagnostic(`the longest turn took ${longestMs.toFixed(1)} of ${allMs.toFixed(1)} ms`);
      for (const { status } of answers) assert.equal(status, 200);
      assert.ok(longestMs < timeLimitMs(allMs / 8), `a turn took ${longestMs} of ${allMs} ms`);
    });
  }
});

/** Words that are all a little similar, which is the slowest case. */
const SLOW_NAMES = { expectedName: 'abc abd acd bcd '.repeat(8), heldName: 'abcd bcda cdab dabc acdb bdca' };
