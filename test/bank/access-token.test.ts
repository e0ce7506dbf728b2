import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { rsaKeys } from '../support/rsa-keys.ts';
import {
  type Change,
  createClock,
  EXTERNAL_PATH,
  outcomeOf,
  type Partner,
  startBankWithPartner,
  withHeader,
} from './partner.ts';

const BRI_ACCOUNT = { beneficiaryBankCode: '002', beneficiaryAccountNo: '888801000157508' };

describe('the access token', () => {
  const clock = createClock('2026-11-21T10:30:24+07:00');
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => ({ partner, close } = await startBankWithPartner(clock.now)));
  after(() => close());

  it('is issued for a signed request, with the fields and headers of SNAP BI', async () => {
    const answer = await partner.requestToken();
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.fields), [
      'responseCode',
      'responseMessage',
      'accessToken',
      'tokenType',
      'expiresIn',
    ]);
    const { accessToken, ...others } = answer.fields;
    assert.match(String(accessToken), /^[\w-]{40,}$/);
    assert.deepEqual(others, {
      responseCode: '2007300',
      responseMessage: 'Successful',
      tokenType: 'Bearer',
      expiresIn: '900',
    });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('x-timestamp'), '2026-11-21T10:30:24+07:00');
    assert.equal(answer.headers.get('x-client-key'), partner.settings.clientKey);
  });

  it('is a new one for each request', async () => {
    assert.notEqual(await partner.authorize(), await partner.authorize());
  });

  it('authorizes inquiries for exactly its lifetime', async () => {
    await partner.authorize();
    clock.advance(900_000 - 1);
    assert.equal((await partner.send(EXTERNAL_PATH, BRI_ACCOUNT)).status, 200);
    clock.advance(1);
    const answer = await partner.send(EXTERNAL_PATH, BRI_ACCOUNT);
    assert.equal(outcomeOf(answer), '401 4011601 Invalid Token (B2B)');
  });

  it('is issued for Z and any offset in X-TIMESTAMP', async () => {
    for (const style of ['Z', '+07:00', '-03:30']) {
      const answer = await partner.requestToken({ headers: { 'X-TIMESTAMP': timeIn(style, clock.now()) } });
      assert.equal(answer.status, 200, style);
    }
  });

  it('is issued with a charset in Content-Type and insignificant whitespace in the body', async () => {
    const answer = await partner.requestToken({
      headers: { 'Content-Type': 'application/json; charset=UTF-8' },
      bodyText: '{ "grantType" :\n"client_credentials", "additionalInfo": {} }',
    });
    assert.equal(answer.status, 200);
  });

  const rejections: [name: string, change: Change, outcome: string][] = [
    ['a missing Content-Type', withHeader('Content-Type'), '400 4007302 Invalid Mandatory Field {Content-Type}'],
    [
      'another Content-Type',
      withHeader('Content-Type', 'text/json'),
      '400 4007301 Invalid Field Format {Content-Type}',
    ],
    ['a missing X-TIMESTAMP', withHeader('X-TIMESTAMP'), '400 4007302 Invalid Mandatory Field {X-TIMESTAMP}'],
    ['a missing X-CLIENT-KEY', withHeader('X-CLIENT-KEY'), '400 4007302 Invalid Mandatory Field {X-CLIENT-KEY}'],
    ['a missing X-SIGNATURE', withHeader('X-SIGNATURE'), '400 4007302 Invalid Mandatory Field {X-SIGNATURE}'],
    ['an unknown client', withHeader('X-CLIENT-KEY', 'unknown-client'), '401 4017300 Unauthorized. [Unknown client]'],
    [
      'a signature that is not base64',
      withHeader('X-SIGNATURE', 'not base64!'),
      '401 4017300 Unauthorized. [Signature]',
    ],
    ['a signature of another length', withHeader('X-SIGNATURE', 'AAAA'), '401 4017300 Unauthorized. [Signature]'],
    ['a body that is not JSON', { bodyText: 'grantType=client_credentials' }, '400 4007300 Bad Request'],
    ['a body that is not an object', { bodyText: '["client_credentials"]' }, '400 4007300 Bad Request'],
    ['a missing grantType', { bodyText: '{}' }, '400 4007302 Invalid Mandatory Field {grantType}'],
    [
      'a misspelled grantType',
      { bodyText: '{"grant_type":"client_credentials"}' },
      '400 4007302 Invalid Mandatory Field {grantType}',
    ],
    ['another grantType', { bodyText: '{"grantType":"authorization_code"}' }, '400 4007300 Bad Request'],
  ];
  for (const [name, change, outcome] of rejections) {
    it(`is denied for ${name}`, async () => {
      assert.equal(outcomeOf(await partner.requestToken(change)), outcome);
    });
  }

  it('is denied for a signature by another key', async () => {
    const time = partner.timestamp();
    const otherKey = rsaKeys().privateKey;
    const signature = sign('RSA-SHA256', Buffer.from(`${partner.settings.clientKey}|${time}`), otherKey);
    const answer = await partner.requestToken({ headers: { 'X-SIGNATURE': signature.toString('base64') } });
    assert.equal(outcomeOf(answer), '401 4017300 Unauthorized. [Signature]');
  });
});

function timeIn(style: string, timeMs: number): string {
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):(\d\d)$/.exec(style) ?? [];
  const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(timeMs + offsetMs).toISOString().slice(0, 19) + style;
}
