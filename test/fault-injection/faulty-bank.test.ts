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
import { timeLimitMs } from '../support/suite-environment.ts';

const MEBIBYTE = 1024 * 1024;
const GZIP_BOMB_MEBIBYTES = 200;

/**
 * A gzip gzipBomb: spaces, which JSON allows, after a valid response. Compressed while it is written, so that the test
 * itself needs little memory.
 */
const gzipBomb: BankAnswer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  const gzip = createGzip({ level: 1 });
  gzip.pipe(response);
  response.once('close', () => gzip.destroy());
  gzip.on('error', () => {});
  gzip.write(JSON.stringify(successOf(request)));
  const spaces = Buffer.alloc(MEBIBYTE, ' ');
  let written = 0;
  const more = (): void => {
    while (written < GZIP_BOMB_MEBIBYTES && !gzip.destroyed) {
      written += 1;
      if (!gzip.write(spaces)) return void gzip.once('drain', more);
    }
    if (!gzip.destroyed) gzip.end();
  };
  more();
};

const duplicateKeys: BankAnswer = (request, response) =>
  answer(response, 200, JSON.stringify(successOf(request)).replace('{', '{"responseCode":"4041611",'));

/** One bank per fault, so that each has a circuit breaker of its own. */
const FAULTS: readonly { readonly name: string; readonly bank: string; readonly respond: BankAnswer }[] = [
  { name: 'no response', bank: 'BRINIDJA', respond: () => {} },
  { name: 'one byte a second', bank: 'BMRIIDJA', respond: drip },
  { name: 'a gzip of 200 MiB', bank: 'BNINIDJA', respond: gzipBomb },
  {
    name: 'HTML with 200',
    bank: 'BTANIDJA',
    respond: (_request, response) => answer(response, 200, '<html><body>BUDI SANTOSO</body></html>'),
  },
  {
    name: "another account's name",
    bank: 'BNIAIDJA',
    respond: (request, response) =>
      answer(response, 200, {
        ...successOf(request),
        beneficiaryAccountNo: '9999999999',
        beneficiaryAccountName: 'ANI',
      }),
  },
  {
    name: 'a redirect',
    bank: 'BDINIDJA',
    respond: (_request, response: ServerResponse) => response.writeHead(302, { location: '/elsewhere' }).end(),
  },
  { name: 'the same key twice', bank: 'BBBAIDJA', respond: duplicateKeys },
  {
    name: 'an unknown code',
    bank: 'NISPIDJA',
    respond: (request, response) => answer(response, 404, { ...successOf(request), responseCode: '4041699' }),
  },
];

const HEALTHY_BANK = 'SYCAIDJ1';
/** Ten rejected requests open a circuit breaker, or five other failures. */
const INQUIRIES_PER_BANK = 10;
/** Longer than a busy machine needs for this file. */
const OPEN_SECONDS = 120;

describe('faulty banks behind one switch', { timeout: 60_000 }, () => {
  let bank: ScriptedBank;
  let service: TestService;
  let lastAccount = 7_000_000_000;

  before(async () => {
    bank = await startScriptedBank({
      inquiry: (request, response) => {
        const bic = request.fields['beneficiaryBankCode'];
        return (FAULTS.find((each) => each.bank === bic)?.respond ?? answerActive)(request, response);
      },
    });
    service = await startTestService({
      rails: [bank.rail(rsaKeys())],
      inquiries: { protection: { ...PROTECTION, breaker: { ...PROTECTION.breaker, openMinMs: OPEN_SECONDS * 1000 } } },
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

  it('the healthy bank answers as fast as without them, and memory does not grow', async () => {
    await median(30);
    const aloneMs = await median(60);
    const memoryBefore = process.memoryUsage.rss();
    let memoryMax = memoryBefore;
    const watching = setInterval(() => (memoryMax = Math.max(memoryMax, process.memoryUsage.rss())), 20);
    const faultyChecks = Promise.all(
      FAULTS.flatMap(({ bank: code }) => Array.from({ length: INQUIRIES_PER_BANK }, () => checkTimed(code))),
    );
    try {
      const togetherMs = await median(60);
      // The test's banks share this process and its processors, so only an order of magnitude can be checked here.
      assert.ok(togetherMs < 10 * aloneMs + 100, `${togetherMs} ms, alone ${aloneMs} ms`);
      for (const { answer: each, tookMs } of await faultyChecks) {
        assert.equal(each.json.error_code, 'SERVICE_UNAVAILABLE');
        assert.equal(each.json.data, undefined);
        assert.ok(tookMs < timeLimitMs(5_000), `answered after ${tookMs} ms`);
      }
    } finally {
      clearInterval(watching);
      await faultyChecks.catch(() => {});
    }
    assert.ok(
      memoryMax - memoryBefore < GZIP_BOMB_MEBIBYTES * MEBIBYTE * 0.75,
      `${(memoryMax - memoryBefore) / MEBIBYTE} MiB more`,
    );
  });

  for (const { name, bank: code } of FAULTS) {
    it(`${name}: the circuit breaker stops inquiries, and Retry-After says until when`, async () => {
      const inquiriesBefore = bank.inquiries.length;
      const { answer: rejected, tookMs } = await checkTimed(code);
      assert.equal(rejected.json.error_code, 'SERVICE_UNAVAILABLE');
      const retryAfter = Number(rejected.headers.get('retry-after'));
      assert.ok(retryAfter > 5 && retryAfter <= OPEN_SECONDS, `Retry-After: ${retryAfter}`);
      assert.ok(tookMs < timeLimitMs(1_000), 'at once');
      assert.equal(bank.inquiries.length, inquiriesBefore);
    });
  }

  it('no redirect was followed', () => {
    assert.deepEqual(
      bank.requests.filter(({ path }) => path === '/elsewhere'),
      [],
    );
  });

  it('the operator sees which circuit breakers are open, since when, and why', async () => {
    const { token } = await service.addClient('operator', ['operator:read']);
    const headers = { authorization: `Bearer ${token}` };
    const { status, json } = await send(`${service.operatorUrl}/operator/v1/rails`, { method: 'GET', headers });
    assert.equal(status, 200);
    const rails = json.data?.['rails'] as { name: string; tells_closed: boolean; banks: Record<string, unknown>[] }[];
    assert.equal(rails.length, 1);
    const banks = new Map(rails[0]?.banks.map((each) => [each['bic'], each]));
    assert.equal(banks.get(HEALTHY_BANK)?.['breaker'], 'closed');
    for (const { bank: code, name } of FAULTS) {
      const bankStatus = banks.get(code);
      assert.equal(bankStatus?.['breaker'], 'open', name);
      assert.match(String(bankStatus['breaker_since']), /^\d{4}-\d\d-\d\dT/);
      assert.equal(bankStatus['in_flight'], 0, name);
      assert.notDeepEqual(bankStatus['no_verdicts'], []);
    }
    const unknown = banks.get('NISPIDJA')?.['no_verdicts'] as Record<string, unknown>[];
    assert.deepEqual([unknown[0]?.['rail_code'], unknown[0]?.['times']], ['4041699', INQUIRIES_PER_BANK]);
    const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
    assert.match(metrics, /tiba_breaker_state\{rail="scripted-bank",bank="BRINIDJA"\} 2/);
    assert.match(metrics, /tiba_inquiries_not_sent_total\{rail="scripted-bank",reason="circuit_open"\} \d/);
  });

  /** The median duration of sequential checks at the healthy bank, in milliseconds. */
  async function median(times: number): Promise<number> {
    const took: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const { answer: each, tookMs } = await checkTimed(HEALTHY_BANK);
      assert.equal(each.status, 200);
      took.push(tookMs);
    }
    return took.sort((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
  }
});
