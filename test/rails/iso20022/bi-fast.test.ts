import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type RunningBank, startBank } from '../../../apps/bank/src/server.ts';
import { accountEnquiry } from '../../../apps/server/src/rails/bi-fast/account-inquiry.ts';
import { type HubRequest, writeMessage } from '../../../apps/server/src/rails/bi-fast/message.ts';
import { paymentStatusRequest } from '../../../apps/server/src/rails/bi-fast/transfer-status.ts';
import { partnerSettings } from '../../bank/partner.ts';
import { rsaKeys } from '../../support/rsa-keys.ts';
import { activeReport, PARTICIPANT, REJECTION } from '../bi-fast-hub.ts';
import { faultsOf, xmlOf } from './judge.ts';

/** libxml2 as the judge of BI-FAST's messages of both sides, in the XML that their JSON stands for. */

let hub: RunningBank;
before(async () => {
  hub = await startBank({ ...partnerSettings(rsaKeys()), profile: 'bi-fast', partnerId: PARTICIPANT });
});
after(() => hub?.close());

let serials = 0;

function messageOf(request: HubRequest): string {
  serials += 1;
  const at = { atMs: Date.now(), serial: String(serials).padStart(8, '0') };
  return writeMessage(request, { bic: PARTICIPANT, channel: '99' }, at).body;
}

async function answerTo(message: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${hub.baseUrl}/bi-fast`, { method: 'POST', headers, body: message });
  return response.text();
}

/** `change` rewrites the XML that is judged. */
async function faultsIn(message: string | object, change = (xml: string): string => xml): Promise<readonly string[]> {
  const { AppHdr, Document } = (typeof message === 'string' ? JSON.parse(message) : message).BusMsg;
  const [[member, content] = ['', {}], ...others] = Object.entries(Document);
  assert.deepEqual(others, []);
  const definition: string = AppHdr.MsgDefIdr;
  const root = member === 'MessageReject' ? definition : member;
  const xml = xmlOf(definition, root, content as Parameters<typeof xmlOf>[2]);
  const changed = change(xml);
  return faultsOf(changed, `${definition}.xsd`);
}

const settings = { bic: PARTICIPANT, purpose: '99', enquiryAmount: '10000.00', amountMember: 'value' } as const;
const byAccount = (accountNumber: string): HubRequest =>
  accountEnquiry('/', settings, { bic: 'BRINIDJA', accountNumber });
const byAlias = (type: '01' | '02', value: string): HubRequest =>
  accountEnquiry('/', settings, { alias: { type, value }, held: value });

const ENQUIRIES = {
  'an account': byAccount('8260371234'),
  'an account that does not exist': byAccount('8260370404'),
  'a mobile number': byAlias('01', '6281234567890'),
  'an e-mail address': byAlias('02', `${'a'.repeat(64)}@example.co.id`),
  'an alias that does not exist': byAlias('02', 'budi0404@example.co.id'),
};

suite('BI-FAST', () => {
  for (const [name, request] of Object.entries(ENQUIRIES)) {
    test(`the enquiry about ${name}, and the report on it, are valid`, async () => {
      const message = messageOf(request);
      assert.deepEqual(await faultsIn(message), []);
      const report = await answerTo(message);
      assert.match(report, /"(?:ACTC|RJCT)"/);
      assert.deepEqual(await faultsIn(report), []);
    });
  }

  test('an alias without the account that its version requires is not: the judge does judge', async () => {
    const message = messageOf(byAlias('01', '6281234567890'));
    const faults = await faultsIn(message, (xml) => xml.replace(/(<CdtrAcct>)<Id>.*?<\/Id>(?=<Prxy>)/, '$1'));
    assert.match(faults.join(), /Prxy/);
    const report = await answerTo(message);
    const withoutNumber = (xml: string): string => xml.replace(/<Othr><Id>\d{15}<\/Id><\/Othr>/, '');
    assert.match((await faultsIn(report, withoutNumber)).join(), /Othr/);
  });

  test('the status request and the report on it are valid', async () => {
    const sent = { reference: `20261121${PARTICIPANT}010O9900000001`, amount: '1.00', currency: 'IDR' };
    const message = messageOf(paymentStatusRequest('/', { ...sent, accountNumber: '8260371234' }));
    assert.deepEqual(await faultsIn(message), []);
    assert.match((await faultsIn(message, (xml) => xml.replace(/<MsgId>.*<\/MsgId>/, ''))).join(), /MsgId/);
    assert.deepEqual(await faultsIn(await answerTo(message)), []);
  });

  test('the rejection of a message (admi.002), and the report that the tests of the rail read, are valid', async () => {
    const rejection = await answerTo(messageOf(byAccount('x')));
    for (const message of [rejection, REJECTION]) {
      assert.deepEqual(await faultsIn(message), []);
      assert.match((await faultsIn(message, (xml) => xml.replace(/<RltdRef>.*<\/RltdRef>/, ''))).join(), /RltdRef/);
    }
    const body = messageOf(byAccount('8260371234'));
    const report = activeReport({ path: '/', contentType: undefined, body });
    const withoutSupplement = JSON.parse(
      JSON.stringify(report, (key, value) => (key === 'SplmtryData' ? undefined : value)),
    );
    assert.deepEqual(await faultsIn(withoutSupplement), []);
  });
});
