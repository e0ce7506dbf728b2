import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  EXTERNAL_PATH,
  type HeaderChanges,
  INTERNAL_PATH,
  outcomeOf,
  type Partner,
  startBankWithPartner,
  withHeader,
} from './partner.ts';

const ACCOUNT = { beneficiaryBankCode: '002', beneficiaryAccountNo: '888801000157508' };
const REJECTED = '401 4011600 Unauthorized. [Signature]';

describe('the symmetric signature', () => {
  let partner: Partner;
  let close: () => Promise<void>;
  before(async () => {
    ({ partner, close } = await startBankWithPartner());
    await partner.authorize();
  });
  after(() => close());

  it('covers the minified body: the sent body may contain whitespace', async () => {
    const bodySent = JSON.stringify(ACCOUNT, null, '\r\n\t ');
    assert.equal((await partner.send(EXTERNAL_PATH, ACCOUNT, { bodySent })).status, 200);
  });

  it('covers whitespace inside strings', async () => {
    const bodySent = JSON.stringify({ ...ACCOUNT, partnerReferenceNo: 'AB' });
    const answer = await partner.send(EXTERNAL_PATH, { ...ACCOUNT, partnerReferenceNo: 'A B' }, { bodySent });
    assert.equal(outcomeOf(answer), REJECTED);
  });

  it('covers the order of members', async () => {
    const bodySent = JSON.stringify(Object.fromEntries(Object.entries(ACCOUNT).toReversed()));
    assert.equal(outcomeOf(await partner.send(EXTERNAL_PATH, ACCOUNT, { bodySent })), REJECTED);
  });

  it('covers every value: a changed digit is rejected', async () => {
    const bodySent = JSON.stringify({ ...ACCOUNT, beneficiaryAccountNo: '888801000157509' });
    assert.equal(outcomeOf(await partner.send(EXTERNAL_PATH, ACCOUNT, { bodySent })), REJECTED);
  });

  it('covers names outside ASCII', async () => {
    const answer = await partner.send(EXTERNAL_PATH, { ...ACCOUNT, partnerReferenceNo: 'gaji é 給料 💸' });
    assert.equal(answer.fields['partnerReferenceNo'], 'gaji é 給料 💸');
  });

  it('covers the query of the path', async () => {
    assert.equal((await partner.send(`${EXTERNAL_PATH}?trace=1&b=%2F`, ACCOUNT)).status, 200);
    const { headers } = signedFor(`${EXTERNAL_PATH}?trace=1`);
    assert.equal(outcomeOf(await partner.send(`${EXTERNAL_PATH}?trace=2`, ACCOUNT, { headers })), REJECTED);
  });

  it('covers the path: one for the internal inquiry is rejected at the external one', async () => {
    const { headers } = signedFor(INTERNAL_PATH);
    assert.equal(outcomeOf(await partner.send(EXTERNAL_PATH, ACCOUNT, { headers })), REJECTED);
  });

  it('covers X-TIMESTAMP', async () => {
    const time = partner.timestamp();
    const headers = { 'X-SIGNATURE': partner.symmetricSignature(EXTERNAL_PATH, JSON.stringify(ACCOUNT), time) };
    const other = new Date(Date.parse(time) + 1000).toISOString().replace('.000Z', 'Z');
    const answer = await partner.send(EXTERNAL_PATH, ACCOUNT, { headers: { ...headers, 'X-TIMESTAMP': other } });
    assert.equal(outcomeOf(answer), REJECTED);
  });

  it('covers the token: another valid one is rejected', async () => {
    const { headers } = signedFor(EXTERNAL_PATH);
    await partner.authorize();
    assert.equal(outcomeOf(await partner.send(EXTERNAL_PATH, ACCOUNT, { headers })), REJECTED);
  });

  const spellings: [name: string, respell: (signature: string) => string][] = [
    ['in hexadecimal', (signature) => Buffer.from(signature, 'base64').toString('hex')],
    ['in base64url', (signature) => `${Buffer.from(signature, 'base64').toString('base64url')}==`],
    ['without its padding', (signature) => signature.replace(/=+$/, '')],
    ['truncated', (signature) => signature.slice(0, 40)],
    ['with one character changed', (signature) => (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)],
  ];
  for (const [name, respell] of spellings) {
    it(`is rejected ${name}`, async () => {
      // One signature in fifteen is the same in both alphabets of base64: then the next path is signed.
      for (let trace = 1; ; trace += 1) {
        const endpoint = `${EXTERNAL_PATH}?trace=${trace}`;
        let original = '';
        const { headers } = signedFor(endpoint, (signature) => {
          original = signature;
          return respell(signature);
        });
        if (headers['X-SIGNATURE'] === original) continue;
        assert.equal(outcomeOf(await partner.send(endpoint, ACCOUNT, { headers })), REJECTED);
        break;
      }
    });
  }

  it('is checked before the body: an unauthenticated caller learns nothing about fields', async () => {
    const answer = await partner.send(EXTERNAL_PATH, {}, withHeader('X-SIGNATURE', 'forged'));
    assert.equal(outcomeOf(answer), REJECTED);
  });

  function signedFor(endpoint: string, respell = (signature: string) => signature): { headers: HeaderChanges } {
    const time = partner.timestamp();
    const signature = partner.symmetricSignature(endpoint, JSON.stringify(ACCOUNT), time);
    return { headers: { 'X-TIMESTAMP': time, 'X-SIGNATURE': respell(signature) } };
  }
});
