import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type Change,
  createClock,
  EXTERNAL_PATH,
  INTERNAL_PATH,
  outcomeOf,
  type Partner,
  startBankWithPartner,
  withHeader,
} from './partner.ts';

const ACCOUNT = { beneficiaryAccountNo: '8888010001', partnerReferenceNo: '2020102900000000000001' };
const START = '2026-11-21T10:30:24+07:00';

describe('the headers of a transaction request', () => {
  const clock = createClock(START);
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ partner, close } = await startBankWithPartner(clock.now));
    await partner.authorize();
  });
  after(() => close());

  for (const name of [
    'Content-Type',
    'Authorization',
    'X-TIMESTAMP',
    'X-SIGNATURE',
    'X-PARTNER-ID',
    'X-EXTERNAL-ID',
    'CHANNEL-ID',
  ]) {
    it(`must have ${name}`, async () => {
      const answer = await partner.send(INTERNAL_PATH, ACCOUNT, withHeader(name));
      assert.equal(outcomeOf(answer), `400 4001502 Invalid Mandatory Field {${name}}`);
    });
  }

  const rejections: [guarantee: string, change: Change, outcome: string][] = [
    [
      'must declare JSON as the content type',
      withHeader('Content-Type', 'text/plain'),
      '400 4001501 Invalid Field Format {Content-Type}',
    ],
    [
      'must not have an unknown token',
      withHeader('Authorization', 'Bearer unknown'),
      '401 4011501 Invalid Token (B2B)',
    ],
    [
      'must not have a scheme other than Bearer',
      withHeader('Authorization', 'Basic dGliYQ=='),
      '401 4011501 Invalid Token (B2B)',
    ],
    ['must not have another partner', withHeader('X-PARTNER-ID', 'OTHER'), '401 4011500 Unauthorized. [X-PARTNER-ID]'],
    ['must not have another channel', withHeader('CHANNEL-ID', '95051'), '401 4011500 Unauthorized. [CHANNEL-ID]'],
    [
      'must not have letters in X-EXTERNAL-ID',
      withHeader('X-EXTERNAL-ID', '12a'),
      '400 4001501 Invalid Field Format {X-EXTERNAL-ID}',
    ],
    [
      'must not have an X-EXTERNAL-ID of 37 digits',
      withHeader('X-EXTERNAL-ID', '1'.repeat(37)),
      '400 4001501 Invalid Field Format {X-EXTERNAL-ID}',
    ],
  ];
  for (const [guarantee, change, outcome] of rejections) {
    it(guarantee, async () => {
      assert.equal(outcomeOf(await partner.send(INTERNAL_PATH, ACCOUNT, change)), outcome);
    });
  }

  it('may have an X-EXTERNAL-ID of 36 digits', async () => {
    const answer = await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-EXTERNAL-ID', '2'.repeat(36)));
    assert.equal(answer.status, 200);
  });
});

describe('X-TIMESTAMP', () => {
  let clock = createClock(START);
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ partner, close } = await startBankWithPartner(() => clock.now()));
    await partner.authorize();
  });
  after(() => close());

  const malformed = [
    '2026-11-21T10:30:24.000+07:00',
    '2026-11-21T10:30:24+0700',
    '2026-11-21T10:30:24',
    '2026-11-21 10:30:24+07:00',
    '2026-11-21T10:30+07:00',
    '2026-11-21T24:00:00+07:00',
    '2026-11-31T10:30:24+07:00',
    '2026-13-01T10:30:24+07:00',
    '1795231824',
  ];
  for (const time of malformed) {
    it(`is rejected in the format ${time}`, async () => {
      const answer = await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-TIMESTAMP', time));
      assert.equal(outcomeOf(answer), '400 4001501 Invalid Field Format {X-TIMESTAMP}');
    });
  }

  for (const time of ['2026-11-21T10:35:24+07:00', '2026-11-21T10:25:24+07:00', '2026-11-21T03:35:24Z']) {
    it(`is accepted at the limit of the tolerance, ${time}`, async () => {
      const answer = await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-TIMESTAMP', time));
      assert.equal(answer.status, 200);
    });
  }

  for (const time of ['2026-11-21T10:35:25+07:00', '2026-11-21T10:25:23+07:00', '2026-11-21T10:30:24Z']) {
    it(`is rejected beyond the tolerance, ${time}, despite a valid signature`, async () => {
      const inquiry = await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-TIMESTAMP', time));
      assert.equal(outcomeOf(inquiry), '401 4011500 Unauthorized. [X-TIMESTAMP]');
      const token = await partner.requestToken(withHeader('X-TIMESTAMP', time));
      assert.equal(outcomeOf(token), '401 4017300 Unauthorized. [X-TIMESTAMP]');
    });
  }

  it('of a response is the time in Jakarta, also when the request is rejected', async () => {
    const answer = await partner.send(INTERNAL_PATH, {}, withHeader('X-TIMESTAMP', 'never'));
    assert.equal(answer.headers.get('x-timestamp'), START);
    clock = createClock('2026-12-31T23:00:00Z');
    assert.equal((await partner.requestToken()).headers.get('x-timestamp'), '2027-01-01T06:00:00+07:00');
  });
});

describe('X-EXTERNAL-ID', () => {
  const clock = createClock('2026-11-21T23:59:50+07:00');
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ partner, close } = await startBankWithPartner(clock.now));
    await partner.authorize();
  });
  after(() => close());

  it('may be used once a day, across all services', async () => {
    const change = withHeader('X-EXTERNAL-ID', '777');
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, change)).status, 200);
    assert.equal(outcomeOf(await partner.send(INTERNAL_PATH, ACCOUNT, change)), '409 4091500 Conflict');
    const elsewhere = await partner.send(EXTERNAL_PATH, { ...ACCOUNT, beneficiaryBankCode: '002' }, change);
    assert.equal(outcomeOf(elsewhere), '409 4091600 Conflict');
  });

  it('is compared as text: leading zeros make a different id', async () => {
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-EXTERNAL-ID', '0777'))).status, 200);
  });

  it('is used up by a signed request with an invalid body', async () => {
    const change = withHeader('X-EXTERNAL-ID', '778');
    assert.equal((await partner.send(INTERNAL_PATH, {}, change)).status, 400);
    assert.equal(outcomeOf(await partner.send(INTERNAL_PATH, ACCOUNT, change)), '409 4091500 Conflict');
  });

  it('is not used up by a request with an invalid signature', async () => {
    const forged = { headers: { 'X-EXTERNAL-ID': '779', 'X-SIGNATURE': 'forged' } };
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, forged)).status, 401);
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, withHeader('X-EXTERNAL-ID', '779'))).status, 200);
  });

  it('may be used again on the next day in Jakarta', async () => {
    const change = withHeader('X-EXTERNAL-ID', '780');
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, change)).status, 200);
    clock.advance(9_999);
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, change)).status, 409);
    clock.advance(1);
    assert.equal((await partner.send(INTERNAL_PATH, ACCOUNT, change)).status, 200);
  });
});
