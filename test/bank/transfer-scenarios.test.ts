import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { RunningBank } from '../../apps/bank/src/server.ts';
import { TRANSFER_SCENARIOS } from '../../apps/bank/src/transfers/scenario.ts';
import { createClock, EXTERNAL_PATH, INTERNAL_PATH, type Partner, startBankWithPartner } from './partner.ts';
import { scenarioRows } from './scenarios-table.ts';
import {
  advanceClock,
  INTERBANK_ORDER,
  INTERBANK_PATH,
  INTRABANK_ORDER,
  INTRABANK_PATH,
  inquireStatus,
  orderTransfer,
  statusOf,
} from './transfers.ts';

const DAY_SECONDS = 24 * 60 * 60;

/**
 * The status of the inquiry at these ages in seconds. Repeated here independently of the bank's table, so that an error
 * in that table is detected.
 */
const EXPECTED: Record<string, readonly [ageSeconds: number, status: string][]> = {
  '1234': [
    [0, '03'],
    [1, '03'],
    [2, '00'],
    [DAY_SECONDS, '00'],
  ],
  '2020': [
    [0, '03'],
    [19, '03'],
    [20, '00'],
    [DAY_SECONDS, '00'],
  ],
  '2030': [
    [0, '03'],
    [1799, '03'],
    [1800, '00'],
    [DAY_SECONDS, '00'],
  ],
  '4411': [
    [1, '03'],
    [2, '06 4041811'],
    [DAY_SECONDS, '06 4041811'],
  ],
  '4318': [
    [1, '03'],
    [2, '06 4031818'],
    [DAY_SECONDS, '06 4031818'],
  ],
  '4309': [
    [1, '03'],
    [2, '06 4031809'],
    [DAY_SECONDS, '06 4031809'],
  ],
  '4305': [
    [1, '03'],
    [2, '06 4031805'],
    [DAY_SECONDS, '06 4031805'],
  ],
  '4315': [
    [1, '03'],
    [2, '06 4031815'],
    [DAY_SECONDS, '06 4031815'],
  ],
  '4302': [
    [1, '03'],
    [2, '06 4031802'],
    [DAY_SECONDS, '06 4031802'],
  ],
  '4314': [
    [1, '03'],
    [2, '06 4031814'],
    [DAY_SECONDS, '06 4031814'],
  ],
  '4303': [
    [1, '03'],
    [2, '06 4031803'],
    [DAY_SECONDS, '06 4031803'],
  ],
  '5400': [
    [1, '03'],
    [2, '06 5041800'],
    [DAY_SECONDS, '06 5041800'],
  ],
  '4404': [
    [1, '03'],
    [2, '05 4041804'],
    [DAY_SECONDS, '05 4041804'],
  ],
  '4400': [
    [1, '03'],
    [2, '04 4041800'],
    [DAY_SECONDS, '04 4041800'],
  ],
  '7600': [
    [1, '03'],
    [2, '00'],
    [DAY_SECONDS, '00'],
  ],
  '7602': [
    [1, '03'],
    [2, '00'],
    [DAY_SECONDS, '00'],
  ],
  '7660': [
    [1, '03'],
    [2, '00'],
    [DAY_SECONDS, '00'],
  ],
  '7606': [
    [1, '03'],
    [2, '00'],
    [7, '00'],
    [DAY_SECONDS, '00'],
  ],
  '7604': [
    [1, '03'],
    [2, '00'],
    [6, '00'],
    [7, '04 4041800'],
    [DAY_SECONDS, '04 4041800'],
  ],
  '3607': [
    [0, '07'],
    [2, '07'],
    [30 * DAY_SECONDS, '07'],
  ],
  '3603': [
    [0, '03'],
    [2, '03'],
    [30 * DAY_SECONDS, '03'],
  ],
};

describe('the scenario of a transfer', () => {
  // The real time stands still: only `advanceClock` moves the clock of transfers.
  const clock = createClock('2026-11-21T10:30:24+07:00');
  let bank: RunningBank;
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ bank, partner, close } = await startBankWithPartner(clock.now));
    await partner.authorize();
  });
  after(() => close());

  for (const [ending, statuses] of Object.entries(EXPECTED)) {
    it(`to an account that ends in ${ending} is ${statuses.map(([age, status]) => `${status} at ${age} s`).join(', ')}`, async () => {
      await orderTransfer(partner, `SCENARIO-${ending}`, ending);
      let ageSeconds = 0;
      for (const [atSeconds, status] of statuses) {
        await advanceClock(bank.baseUrl, atSeconds - ageSeconds);
        ageSeconds = atSeconds;
        assert.equal(await statusOf(partner, `SCENARIO-${ending}`), status, `at ${atSeconds} s`);
      }
    });
  }

  it('is tested here for every ending of the table', () => {
    const others = Object.keys(EXPECTED).filter((ending) => ending !== '1234');
    assert.deepEqual(others.sort(), TRANSFER_SCENARIOS.map(({ ending }) => ending).sort());
  });

  it('follows the real time, to the millisecond', async () => {
    await orderTransfer(partner, 'REAL-TIME', '0001');
    clock.advance(1999);
    assert.equal(await statusOf(partner, 'REAL-TIME'), '03');
    clock.advance(1);
    assert.equal(await statusOf(partner, 'REAL-TIME'), '00');
  });

  it('does not revert when the machine’s clock goes back', async () => {
    await orderTransfer(partner, 'BACK', '0001');
    clock.advance(2000);
    assert.equal(await statusOf(partner, 'BACK'), '00');
    clock.advance(-3_600_000);
    await partner.authorize();
    assert.equal(await statusOf(partner, 'BACK'), '00');
    await orderTransfer(partner, 'AFTER-BACK', '2030');
    await advanceClock(bank.baseUrl, 1800);
    assert.equal(await statusOf(partner, 'AFTER-BACK'), '00');
    clock.advance(3_600_000);
    await partner.authorize();
  });

  for (const [ending, code] of [
    ['0404', '4041811'],
    ['0410', '4031818'],
    ['0403', '4031805'],
  ] as const) {
    it(`fails with ${code} for an account that inquiries reject by its ending ${ending}`, async () => {
      await orderTransfer(partner, `REFUSED-${ending}`, ending);
      await advanceClock(bank.baseUrl, 2);
      assert.equal(await statusOf(partner, `REFUSED-${ending}`), `06 ${code}`);
    });
  }

  for (const ending of ['0429', '0500', '0503', '0504']) {
    it(`is success for the ending ${ending}, which only disturbs inquiries`, async () => {
      await orderTransfer(partner, `DISTURBED-${ending}`, ending);
      await advanceClock(bank.baseUrl, 2);
      assert.equal(await statusOf(partner, `DISTURBED-${ending}`), '00');
    });
  }

  it('fails for an account of the wrong length, whatever its ending', async () => {
    for (const [path, order, serviceCode] of [
      [INTRABANK_PATH, { ...INTRABANK_ORDER, beneficiaryAccountNo: '888802030' }, '17'],
      [INTERBANK_PATH, { ...INTERBANK_ORDER, beneficiaryAccountNo: '2030' }, '18'],
    ] as const) {
      assert.equal((await partner.send(path, order)).status, 200);
      await advanceClock(bank.baseUrl, 2);
      const { fields } = await inquireStatus(partner, order.partnerReferenceNo, serviceCode);
      assert.equal(fields['latestTransactionStatus'], '06');
      assert.equal(fields['previousResponseCode'], `404${serviceCode}11`);
    }
  });

  it('gives its reason with the code of its own service', async () => {
    const order = { ...INTRABANK_ORDER, partnerReferenceNo: 'OWN-CODE', beneficiaryAccountNo: '8888014309' };
    await partner.send(INTRABANK_PATH, order);
    await advanceClock(bank.baseUrl, 2);
    const { fields } = await inquireStatus(partner, 'OWN-CODE', '17');
    assert.equal(fields['previousResponseCode'], '4031709');
    assert.equal(fields['transactionStatusDesc'], 'Failed');
  });

  it('does not affect account inquiries', async () => {
    for (const { ending } of TRANSFER_SCENARIOS) {
      const internal = await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: `888801${ending}` });
      const external = { beneficiaryBankCode: '002', beneficiaryAccountNo: `88880100${ending}` };
      assert.equal(internal.fields['responseCode'], '2001500', ending);
      assert.equal((await partner.send(EXTERNAL_PATH, external)).fields['responseCode'], '2001600', ending);
    }
  });

  it('is final for a thousand transfers after one advance, all within 20 seconds', async () => {
    const references = Array.from({ length: 1000 }, (_, index) => `MANY-${index}`);
    const startedAtMs = Date.now();
    for (let start = 0; start < references.length; start += 50) {
      await Promise.all(
        references.slice(start, start + 50).map((reference) => orderTransfer(partner, reference, '2030')),
      );
    }
    await advanceClock(bank.baseUrl, 1800);
    for (let start = 0; start < references.length; start += 50) {
      const statuses = references.slice(start, start + 50).map((reference) => statusOf(partner, reference));
      assert.deepEqual(new Set(await Promise.all(statuses)), new Set(['00']));
    }
    const tookMs = Date.now() - startedAtMs;
    assert.ok(tookMs < 20_000, `${tookMs} ms`);
  });
});

describe('the documentation of the simulated bank', () => {
  it('lists every transfer scenario as the bank defines it', () => {
    const text = readFileSync(new URL('../../docs/simulated-bank.md', import.meta.url), 'utf8');
    const [, section = ''] = text.split('### Endings');
    const rows = section
      .split('\n##')[0]
      ?.split('\n')
      .filter((line) => /^\| (?:`\d|any)/.test(line));
    assert.deepEqual(rows, scenarioRows());
  });
});
