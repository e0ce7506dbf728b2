import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { createGzip } from 'node:zlib';
import { PROTECTION } from '../../apps/server/src/rails/resilience/settings.ts';
import {
  answer,
  answerActive,
  type BankAnswer,
  drip,
  type ScriptedBank,
  startScriptedBank,
  successOf,
} from '../rails/scripted-bank.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { bound } from '../support/suite-environment.ts';

const MEBIBYTE = 1024 * 1024;
const BOMB_MEBIBYTES = 200;

/** Spaces, which JSON allows, after a right answer. Packed as they are written, so that the test itself stays small. */
const bomb: BankAnswer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  const gzip = createGzip({ level: 1 });
  gzip.pipe(response);
  response.once('close', () => gzip.destroy());
  gzip.on('error', () => {});
  gzip.write(JSON.stringify(successOf(request)));
  const spaces = Buffer.alloc(MEBIBYTE, ' ');
  let written = 0;
  const more = (): void => {
    while (written < BOMB_MEBIBYTES && !gzip.destroyed) {
      written += 1;
      if (!gzip.write(spaces)) return void gzip.once('drain', more);
    }
    if (!gzip.destroyed) gzip.end();
  };
  more();
};

const duplicateKeys: BankAnswer = (request, response) =>
  answer(response, 200, JSON.stringify(successOf(request)).replace('{', '{"responseCode":"4041611",'));

/** One bank for each misdeed, so that each has a breaker of its own. */
const MISDEEDS: readonly { readonly name: string; readonly bank: string; readonly misdeed: BankAnswer }[] = [
  { name: 'nothing', bank: 'BRINIDJA', misdeed: () => {} },
  { name: 'one byte a second', bank: 'BMRIIDJA', misdeed: drip },
  { name: 'a gzip of 200 MiB', bank: 'BNINIDJA', misdeed: bomb },
  {
    name: 'HTML with 200',
    bank: 'BTANIDJA',
    misdeed: (_request, response) => answer(response, 200, '<html><body>BUDI SANTOSO</body></html>'),
  },
  {
    name: "another account's name",
    bank: 'BNIAIDJA',
    misdeed: (request, response) =>
      answer(response, 200, {
        ...successOf(request),
        beneficiaryAccountNo: '9999999999',
        beneficiaryAccountName: 'ANI',
      }),
  },
  {
    name: 'a redirect',
    bank: 'BDINIDJA',
    misdeed: (_request, response: ServerResponse) => response.writeHead(302, { location: '/elsewhere' }).end(),
  },
  { name: 'the same key twice', bank: 'BBBAIDJA', misdeed: duplicateKeys },
  {
    name: 'an unknown code',
    bank: 'NISPIDJA',
    misdeed: (request, response) => answer(response, 404, { ...successOf(request), responseCode: '4041699' }),
  },
];

const GOOD_BANK = 'SYCAIDJ1';
/** Ten refusals open a breaker, five other failures do. */
const ASKED_TIMES = 10;
/** Longer than a busy machine takes for all of this. */
const REST_SECONDS = 120;

describe('a switch behind which banks lie and fail', { timeout: 60_000 }, () => {
  let bank: ScriptedBank;
  let service: TestService;
  let lastAccount = 7_000_000_000;

  before(async () => {
    bank = await startScriptedBank({
      inquiry: (request, response) => {
        const bic = request.fields['beneficiaryBankCode'];
        return (MISDEEDS.find((each) => each.bank === bic)?.misdeed ?? answerActive)(request, response);
      },
    });
    service = await startTestService({
      rails: [bank.rail(rsaKeys())],
      inquiries: { protection: { ...PROTECTION, breaker: { ...PROTECTION.breaker, openMinMs: REST_SECONDS * 1000 } } },
    });
  });
  after(async () => {
    await service?.close();
    await bank?.close();
  });

  const check = (bankCode: string): Promise<Answer> =>
    service.checkAccount({ bank_code: bankCode, account_number: String((lastAccount += 1_009)) });

  async function checkTimed(bankCode: string): Promise<{ answer: Answer; tookMs: number }> {
    const startedMs = performance.now();
    return { answer: await check(bankCode), tookMs: performance.now() - startedMs };
  }

  it('the good bank answers meanwhile as it does alone, and memory stays flat', async () => {
    await median(30);
    const alone = await median(60);
    const memoryBefore = process.memoryUsage.rss();
    let memoryMax = memoryBefore;
    const watching = setInterval(() => (memoryMax = Math.max(memoryMax, process.memoryUsage.rss())), 20);
    const lies = Promise.all(
      MISDEEDS.flatMap(({ bank: code }) => Array.from({ length: ASKED_TIMES }, () => checkTimed(code))),
    );
    try {
      const together = await median(60);
      // The test's own banks share this process and its processors: an order of magnitude is what can be told here.
      assert.ok(together < 10 * alone + 100, `${together} ms, alone ${alone} ms`);
      for (const { answer: each, tookMs } of await lies) {
        assert.equal(each.json.error_code, 'SERVICE_UNAVAILABLE');
        assert.equal(each.json.data, undefined);
        assert.ok(tookMs < bound(5_000), `answered after ${tookMs} ms`);
      }
    } finally {
      clearInterval(watching);
      await lies.catch(() => {});
    }
    assert.ok(
      memoryMax - memoryBefore < BOMB_MEBIBYTES * MEBIBYTE * 0.75,
      `${(memoryMax - memoryBefore) / MEBIBYTE} MiB more`,
    );
  });

  for (const { name, bank: code } of MISDEEDS) {
    it(`${name}: the bank is not asked any more, and Retry-After says when it will be`, async () => {
      const askedBefore = bank.inquiries.length;
      const { answer: refused, tookMs } = await checkTimed(code);
      assert.equal(refused.json.error_code, 'SERVICE_UNAVAILABLE');
      const retryAfter = Number(refused.headers.get('retry-after'));
      assert.ok(retryAfter > 5 && retryAfter <= REST_SECONDS, `Retry-After: ${retryAfter}`);
      assert.ok(tookMs < bound(1_000), 'at once');
      assert.equal(bank.inquiries.length, askedBefore);
    });
  }

  it('no redirect was followed', () => {
    assert.deepEqual(
      bank.requests.filter(({ path }) => path === '/elsewhere'),
      [],
    );
  });

  it('the operator sees who is given a rest, since when, and why', async () => {
    const { token } = await service.addClient('operator', ['operator:read']);
    const headers = { authorization: `Bearer ${token}` };
    const { status, json } = await send(`${service.operatorUrl}/operator/v1/rails`, { method: 'GET', headers });
    assert.equal(status, 200);
    const rails = json.data?.['rails'] as { name: string; tells_closed: boolean; banks: Record<string, unknown>[] }[];
    assert.equal(rails.length, 1);
    const banks = new Map(rails[0]?.banks.map((each) => [each['bic'], each]));
    assert.equal(banks.get(GOOD_BANK)?.['breaker'], 'closed');
    for (const { bank: code, name } of MISDEEDS) {
      const seen = banks.get(code);
      assert.equal(seen?.['breaker'], 'open', name);
      assert.match(String(seen['breaker_since']), /^\d{4}-\d\d-\d\dT/);
      assert.equal(seen['in_flight'], 0, name);
      assert.notDeepEqual(seen['no_verdicts'], []);
    }
    const unknown = banks.get('NISPIDJA')?.['no_verdicts'] as Record<string, unknown>[];
    assert.deepEqual([unknown[0]?.['rail_code'], unknown[0]?.['times']], ['4041699', ASKED_TIMES]);
    const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
    assert.match(metrics, /tiba_breaker_state\{rail="scripted-bank",bank="BRINIDJA"\} 2/);
    assert.match(metrics, /tiba_inquiries_not_sent_total\{rail="scripted-bank",reason="resting"\} \d/);
  });

  /** Of so many checks at the good bank, one after the other, in milliseconds. */
  async function median(times: number): Promise<number> {
    const took: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const { answer: each, tookMs } = await checkTimed(GOOD_BANK);
      assert.equal(each.status, 200);
      took.push(tookMs);
    }
    return took.sort((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
  }
});
