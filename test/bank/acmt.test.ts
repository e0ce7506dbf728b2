import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createClock, partnerSettings } from './partner.ts';

const PATH = '/v1/account-verification';
const BIC = 'TIBAIDJX';
const clock = createClock('2026-11-21T04:32:26.123Z');
const keys = rsaKeys();

const VERSIONS = ['03', '04'] as const;
type Version = (typeof VERSIONS)[number];

/** The account as each version has it. */
const ACCOUNTS: Readonly<Record<Version, string>> = {
  '03': '<Othr><Id>8260371234</Id><SchmeNm><Prtry>ACCT</Prtry></SchmeNm></Othr>',
  '04': '<IBAN>8260371234</IBAN>',
};

let messages = 0;

/** A right request, each time with new ids. */
function validRequest(version: Version, account = '8260371234'): string {
  messages += 1;
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.023.001.${version}"><IdVrfctnReq><Assgnmt>` +
    `<MsgId>M-${messages}</MsgId><CreDtTm>2026-11-21T04:32:26.000Z</CreDtTm>` +
    `<Assgnr><Agt><FinInstnId><BICFI>${BIC}</BICFI></FinInstnId></Agt></Assgnr>` +
    '<Assgne><Agt><FinInstnId><Othr><Id>TIBASCHEME</Id></Othr></FinInstnId></Agt></Assgne>' +
    `</Assgnmt><Vrfctn><Id>V-${messages}</Id><PtyAndAcctId>` +
    `<Acct><Id>${ACCOUNTS[version].replace('8260371234', account)}</Id></Acct>` +
    '<Agt><FinInstnId><BICFI>BRINIDJA</BICFI></FinInstnId></Agt>' +
    '</PtyAndAcctId></Vrfctn></IdVrfctnReq></Document>'
  );
}

/** A right request with one thing replaced. */
function changed(version: Version, part: string | RegExp, replacement: string): string {
  const right = validRequest(version);
  const wrong = right.replace(part, replacement);
  assert.notEqual(wrong, right, `${String(part)} changes nothing`);
  return wrong;
}

for (const version of VERSIONS) {
  describe(`the simulated bank in the form acmt-${version}`, () => {
    let bank: RunningBank;
    before(async () => {
      bank = await startBank({ ...partnerSettings(keys), profile: `acmt-${version}`, partnerId: BIC }, clock.now);
    });
    after(() => bank.close());

    async function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = PATH) {
      const response = await fetch(bank.baseUrl + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/xml', ...headers },
        body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
        signal: AbortSignal.timeout(10_000),
      });
      return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
    }

    /** HTTP status and what the message comes to, in one line. */
    async function outcome(body: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<string> {
      const { status, text } = await post(body, headers);
      const [, verified = ''] = /<Vrfctn>(true|false)</.exec(text) ?? [];
      const [, reason = ''] = /<Rsn><(?:Cd|Prtry)>([^<]*)</.exec(text) ?? [];
      const [, rejected = ''] = /<RjctgPtyRsn>([^<]*)</.exec(text) ?? [];
      return [status, verified, reason, rejected].filter((word) => word !== '').join(' ');
    }

    it('reports an active account with its holder, and repeats what it was asked', async () => {
      const request = validRequest(version, '8888010001');
      const { status, type, text } = await post(request);
      assert.equal(`${status} ${type}`, '200 application/xml; charset=utf-8');
      const account = ACCOUNTS[version].replace('8260371234', '8888010001');
      const bankId = '<Agt><FinInstnId><BICFI>BRINIDJA</BICFI></FinInstnId></Agt>';
      assert.equal(
        text.replace(/<MsgId>\d{22}</, '<MsgId>THEIRS<'),
        `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.024.001.${version}">` +
          '<IdVrfctnRpt><Assgnmt><MsgId>THEIRS</MsgId><CreDtTm>2026-11-21T04:32:26.123Z</CreDtTm>' +
          '<Assgnr><Agt><FinInstnId><Othr><Id>TIBASCHEME</Id></Othr></FinInstnId></Agt></Assgnr>' +
          `<Assgne><Agt><FinInstnId><BICFI>${BIC}</BICFI></FinInstnId></Agt></Assgne></Assgnmt>` +
          `<OrgnlAssgnmt><MsgId>M-${messages}</MsgId><CreDtTm>2026-11-21T04:32:26.000Z</CreDtTm></OrgnlAssgnmt>` +
          `<Rpt><OrgnlId>V-${messages}</OrgnlId><Vrfctn>true</Vrfctn>` +
          `<OrgnlPtyAndAcctId><Acct><Id>${account}</Id></Acct>${bankId}</OrgnlPtyAndAcctId>` +
          '<UpdtdPtyAndAcctId><Pty><Nm>RATNA TANJUNG</Nm></Pty>' +
          `<Acct><Id>${account}</Id><Nm>RATNA T.</Nm></Acct>${bankId}</UpdtdPtyAndAcctId></Rpt></IdVrfctnRpt></Document>\n`,
      );
    });

    const ENDINGS: Readonly<Record<string, string>> = {
      '0404': '200 false AC01',
      '0410': '200 false AC04',
      '0403': '200 false AC06',
      '0503': '200 false DS28',
      '0429': '429 FF01',
    };
    for (const [ending, expected] of Object.entries(ENDINGS)) {
      it(`answers ${expected} for an account that ends in ${ending}`, async () => {
        assert.equal(await outcome(validRequest(version, `826037${ending}`)), expected);
      });
    }

    it('answers HTML for an account that ends in 0500, and nothing for one that ends in 0504', async () => {
      const { status, type } = await post(validRequest(version, '8260370500'));
      assert.equal(`${status} ${type}`, '200 text/html; charset=utf-8');
      const silent = fetch(bank.baseUrl + PATH, {
        method: 'POST',
        headers: { 'Content-Type': 'application/xml' },
        body: validRequest(version, '8260370504'),
        signal: AbortSignal.timeout(300),
      });
      await assert.rejects(silent, { name: 'TimeoutError' });
    });

    it('takes what is left open: no declaration, line ends, blanks in tags, entities, a time five minutes off', async () => {
      assert.equal(await outcome(changed(version, /^<\?xml.*?\?>/, '')), '200 true');
      assert.equal(await outcome(validRequest(version).replaceAll('><', '>\n  <')), '200 true');
      assert.equal(await outcome(changed(version, '</MsgId>', '&amp;</MsgId >')), '200 true');
      assert.equal(await outcome(changed(version, 'T04:32:26', 'T04:27:27')), '200 true');
    });

    // Every element of a right request, by the text that it is.
    const elements = [...validRequest(version).matchAll(/<([A-Za-z]+)[^>]*>/g)].map(([, name = '']) => name).slice(1);
    for (const [index, name] of elements.entries()) {
      const nth = elements.slice(0, index).filter((each) => each === name).length;

      it(`refuses a request without its element ${index + 1}, ${name}`, async () => {
        const editions = mutationsOf(validRequest(version), name, nth);
        for (const wrong of Object.values(editions)) assert.equal(await outcome(wrong), '400 FF01', wrong);
      });
    }

    const MALFORMED: Readonly<Record<string, () => string>> = {
      'of another version': () => changed(version, /001\.0\d/, version === '03' ? '001.04' : '001.03'),
      'of another kind': () => changed(version, 'acmt.023', 'acmt.024'),
      'in no namespace': () => changed(version, / xmlns="[^"]*"/, ''),
      'with a second namespace': () => changed(version, '<Document ', '<Document xmlns:x="urn:x" '),
      'with elements in another order': () => changed(version, /(<MsgId>.*<\/MsgId>)(<CreDtTm>.*<\/CreDtTm>)/, '$2$1'),
      'with an element that is not known': () => changed(version, '</Vrfctn>', '<Note>x</Note></Vrfctn>'),
      'with a MsgId of 36 characters': () => changed(version, /<MsgId>[^<]*/, `<MsgId>${'M'.repeat(36)}`),
      'with a blank before its MsgId': () => changed(version, '<MsgId>', '<MsgId> '),
      'with an Id of 36 characters': () => changed(version, /<Vrfctn><Id>[^<]*/, `<Vrfctn><Id>${'V'.repeat(36)}`),
      'with a scheme of 36 characters': () => changed(version, 'TIBASCHEME', 'S'.repeat(36)),
      'with a time without a zone': () => changed(version, '.000Z', '.000'),
      'with a time that does not exist': () => changed(version, '11-21T04', '11-31T04'),
      'with a date for a time': () => changed(version, 'T04:32:26.000Z', ''),
      'from too long ago': () => changed(version, 'T04:32:26', 'T04:27:25'),
      'from the future': () => changed(version, 'T04:32:26', 'T04:37:28'),
      'with an assigner that is no BIC': () => changed(version, BIC, 'TIBA'),
      'with a bank that is no BIC': () => changed(version, 'BRINIDJA', 'brinidja'),
      'with letters in the account': () => changed(version, '8260371234', '826037123A'),
      'with 35 digits in the account': () => changed(version, '8260371234', '1'.repeat(35)),
      'with the account as the other version has it': () =>
        changed(version, ACCOUNTS[version], ACCOUNTS[version === '03' ? '04' : '03']),
      'with text between elements': () => changed(version, '<Assgnmt>', '<Assgnmt>x'),
      'with a comment': () => changed(version, '<Assgnmt>', '<Assgnmt><!-- x -->'),
      'with CDATA': () => changed(version, /<MsgId>([^<]*)/, '<MsgId><![CDATA[$1]]>'),
      'with a processing instruction': () => changed(version, '<Assgnmt>', '<?x?><Assgnmt>'),
      'with a DOCTYPE': () => changed(version, '<Document', '<!DOCTYPE Document><Document'),
      'with an entity of its own': () => changed(version, '<MsgId>', '<MsgId>&x;'),
      'with tags that cross': () => changed(version, '</Agt></Assgnr>', '</Assgnr></Agt>'),
      'that is cut short': () => changed(version, '</Document>', ''),
      'with something behind it': () => changed(version, '</Document>', '</Document><Document/>'),
      'that is empty': () => '',
      'that is JSON': () => '{}',
      '3,000 levels deep': () => '<a>'.repeat(3_000),
    };
    for (const [what, request] of Object.entries(MALFORMED)) {
      it(`refuses a request ${what}`, async () => {
        assert.equal(await outcome(request()), '400 FF01');
      });
    }

    // What V04 numbers accounts by is not known.
    if (version === '03') {
      it('refuses an account of another numbering scheme', async () => {
        assert.equal(await outcome(changed(version, 'ACCT', 'CARD')), '400 FF01');
      });
    }

    it('refuses a request that is no UTF-8', async () => {
      const body = Uint8Array.from(Buffer.from(changed(version, '<MsgId>', '<MsgId>\u00e9'), 'latin1'));
      assert.equal(await outcome(body), '400 FF01');
    });

    it('says where a request is wrong, in a rejection (admi.002)', async () => {
      const { text, type } = await post(changed(version, '.000Z', '.000'));
      assert.equal(type, 'application/xml; charset=utf-8');
      assert.ok(text.includes('<Document xmlns="urn:iso:std:iso:20022:tech:xsd:admi.002.001.01"><admi.002.001.01>'));
      assert.ok(text.includes('<ErrLctn>Document/IdVrfctnReq/Assgnmt/CreDtTm</ErrLctn>'));
    });

    it('refuses what is not sent as XML in UTF-8', async () => {
      for (const type of [
        'application/json',
        'text/plain',
        'application/xml; charset=latin1',
        'application/xmlx',
        '',
      ]) {
        assert.equal(await outcome(validRequest(version), { 'Content-Type': type }), '415 FF01', type);
      }
      const type = 'application/xml; charset="UTF-8"';
      assert.equal(await outcome(validRequest(version), { 'Content-Type': type }), '200 true');
    });

    it('refuses more than 16 KiB, and other paths', async () => {
      assert.equal(await outcome(changed(version, '<Assgnmt>', `<Assgnmt>${' '.repeat(16 * 1024)}`)), '413 FF01');
      assert.equal((await post(validRequest(version), {}, '/v1.0/account-inquiry-external')).status, 404);
    });

    it('reports that it does not know the agent, the scheme, or the bank', async () => {
      assert.equal(await outcome(changed(version, BIC, 'TIBAIDJY')), '200 false BNOR');
      assert.equal(await outcome(changed(version, 'TIBASCHEME', 'ANOTHER')), '200 false AGNT');
      assert.equal(await outcome(changed(version, 'BRINIDJA', 'XXXXIDJA')), '200 false RC04');
    });

    it('reports a MsgId that was used before on the same day, but not one that it never took', async () => {
      const request = validRequest(version);
      assert.equal(await outcome(request.replace(BIC, 'TIBAIDJY')), '200 false BNOR');
      assert.equal(await outcome(request), '200 true');
      assert.equal(await outcome(request), '200 false DUPL');
      clock.advance(24 * 60 * 60 * 1000);
      try {
        assert.equal(await outcome(request.replace('2026-11-21T', '2026-11-22T')), '200 true');
      } finally {
        clock.advance(-24 * 60 * 60 * 1000);
      }
    });
  });
}

/** A request that breaks the rules of its `nth` element (from 0) of this name in each way that there is. */
function mutationsOf(request: string, name: string, nth: number) {
  const start = [...request.matchAll(new RegExp(`<${name}>`, 'g'))][nth]?.index ?? -1;
  assert.notEqual(start, -1);
  let depth = 0;
  let end = request.length;
  for (const tag of request.slice(start).matchAll(new RegExp(`<(/?)${name}>`, 'g'))) {
    depth += tag[1] === '' ? 1 : -1;
    if (depth > 0) continue;
    end = start + tag.index + tag[0].length;
    break;
  }
  const [head, whole, tail] = [request.slice(0, start), request.slice(start, end), request.slice(end)];
  return {
    without: head + tail,
    twice: head + whole + whole + tail,
    attribute: `${head}${whole.replace('>', ' x="1">')}${tail}`,
    empty: `${head}<${name}/>${tail}`,
    renamed: `${head}<X${whole.slice(1 + name.length, -1 - name.length)}X>${tail}`,
  };
}
