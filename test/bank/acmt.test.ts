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

/** The account identification in each version. */
const ACCOUNTS: Readonly<Record<Version, string>> = {
  '03': '<Othr><Id>8260371234</Id><SchmeNm><Prtry>ACCT</Prtry></SchmeNm></Othr>',
  '04': '<Othr><Id>8260371234</Id></Othr>',
};

let messages = 0;

/** A valid request, each time with new ids. */
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

/** A valid request with one part replaced. */
function withChange(version: Version, part: string | RegExp, replacement: string): string {
  const valid = validRequest(version);
  const changed = valid.replace(part, replacement);
  assert.notEqual(changed, valid, `${String(part)} changes nothing`);
  return changed;
}

for (const version of VERSIONS) {
  describe(`the simulated bank with the profile acmt-${version}`, () => {
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

    /** HTTP status, verification, reason and rejection code in one line. */
    async function outcome(body: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<string> {
      const { status, text } = await post(body, headers);
      const [, verified = ''] = /<Vrfctn>(true|false)</.exec(text) ?? [];
      const [, reason = ''] = /<Rsn><(?:Cd|Prtry)>([^<]*)</.exec(text) ?? [];
      const [, rejected = ''] = /<RjctgPtyRsn>([^<]*)</.exec(text) ?? [];
      return [status, verified, reason, rejected].filter((part) => part !== '').join(' ');
    }

    it('reports an active account with its holder, and repeats the request’s account and ids', async () => {
      const request = validRequest(version, '8888010001');
      const { status, type, text } = await post(request);
      assert.equal(`${status} ${type}`, '200 application/xml; charset=utf-8');
      const account = ACCOUNTS[version].replace('8260371234', '8888010001');
      const bankId = '<Agt><FinInstnId><BICFI>BRINIDJA</BICFI></FinInstnId></Agt>';
      assert.equal(
        text.replace(/<MsgId>\d{22}</, '<MsgId>BANK-ID<'),
        `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.024.001.${version}">` +
          '<IdVrfctnRpt><Assgnmt><MsgId>BANK-ID</MsgId><CreDtTm>2026-11-21T04:32:26.123Z</CreDtTm>' +
          '<Assgnr><Agt><FinInstnId><Othr><Id>TIBASCHEME</Id></Othr></FinInstnId></Agt></Assgnr>' +
          `<Assgne><Agt><FinInstnId><BICFI>${BIC}</BICFI></FinInstnId></Agt></Assgne></Assgnmt>` +
          `<OrgnlAssgnmt><MsgId>M-${messages}</MsgId><CreDtTm>2026-11-21T04:32:26.000Z</CreDtTm></OrgnlAssgnmt>` +
          `<Rpt><OrgnlId>V-${messages}</OrgnlId><Vrfctn>true</Vrfctn>` +
          `<OrgnlPtyAndAcctId><Acct><Id>${account}</Id></Acct>${bankId}</OrgnlPtyAndAcctId>` +
          '<UpdtdPtyAndAcctId><Pty><Nm>RATNA TANJUNG</Nm></Pty>' +
          `<Acct><Id>${account}</Id><Nm>RATNA T.</Nm></Acct>${bankId}</UpdtdPtyAndAcctId></Rpt></IdVrfctnRpt></Document>\n`,
      );
    });

    const OUTCOMES_BY_ENDING: Readonly<Record<string, string>> = {
      '0404': '200 false AC01',
      '0410': '200 false AC04',
      '0403': '200 false AC06',
      '0503': '200 false DS28',
      '0429': '429 FF01',
    };
    for (const [ending, expected] of Object.entries(OUTCOMES_BY_ENDING)) {
      it(`answers ${expected} for an account that ends in ${ending}`, async () => {
        assert.equal(await outcome(validRequest(version, `826037${ending}`)), expected);
      });
    }

    it('answers HTML for an account that ends in 0500, and never responds for one that ends in 0504', async () => {
      const { status, type } = await post(validRequest(version, '8260370500'));
      assert.equal(`${status} ${type}`, '200 text/html; charset=utf-8');
      const unanswered = fetch(bank.baseUrl + PATH, {
        method: 'POST',
        headers: { 'Content-Type': 'application/xml' },
        body: validRequest(version, '8260370504'),
        signal: AbortSignal.timeout(300),
      });
      await assert.rejects(unanswered, { name: 'TimeoutError' });
    });

    it('accepts a missing declaration, line breaks, spaces in tags, entities, and a time five minutes off', async () => {
      assert.equal(await outcome(withChange(version, /^<\?xml.*?\?>/, '')), '200 true');
      assert.equal(await outcome(validRequest(version).replaceAll('><', '>\n  <')), '200 true');
      assert.equal(await outcome(withChange(version, '</MsgId>', '&amp;</MsgId >')), '200 true');
      assert.equal(await outcome(withChange(version, 'T04:32:26', 'T04:27:27')), '200 true');
    });

    // The names of all elements of a valid request, in order.
    const elements = [...validRequest(version).matchAll(/<([A-Za-z]+)[^>]*>/g)].map(([, name = '']) => name).slice(1);
    for (const [index, name] of elements.entries()) {
      const nth = elements.slice(0, index).filter((each) => each === name).length;

      it(`rejects a request whose element ${index + 1}, ${name}, is missing, repeated or renamed`, async () => {
        const mutations = mutationsOf(validRequest(version), name, nth);
        for (const mutation of Object.values(mutations)) assert.equal(await outcome(mutation), '400 FF01', mutation);
      });
    }

    const MALFORMED: Readonly<Record<string, () => string>> = {
      'of another version': () => withChange(version, /001\.0\d/, version === '03' ? '001.04' : '001.03'),
      'of another message type': () => withChange(version, 'acmt.023', 'acmt.024'),
      'without a namespace': () => withChange(version, / xmlns="[^"]*"/, ''),
      'with a second namespace': () => withChange(version, '<Document ', '<Document xmlns:x="urn:x" '),
      'with elements in another order': () =>
        withChange(version, /(<MsgId>.*<\/MsgId>)(<CreDtTm>.*<\/CreDtTm>)/, '$2$1'),
      'with an unknown element': () => withChange(version, '</Vrfctn>', '<Note>x</Note></Vrfctn>'),
      'with a MsgId of 36 characters': () => withChange(version, /<MsgId>[^<]*/, `<MsgId>${'M'.repeat(36)}`),
      'with a space before its MsgId': () => withChange(version, '<MsgId>', '<MsgId> '),
      'with an Id of 36 characters': () => withChange(version, /<Vrfctn><Id>[^<]*/, `<Vrfctn><Id>${'V'.repeat(36)}`),
      'with a scheme of 36 characters': () => withChange(version, 'TIBASCHEME', 'S'.repeat(36)),
      'with a time without a zone': () => withChange(version, '.000Z', '.000'),
      'with a time that does not exist': () => withChange(version, '11-21T04', '11-31T04'),
      'with a date instead of a time': () => withChange(version, 'T04:32:26.000Z', ''),
      'from too long ago': () => withChange(version, 'T04:32:26', 'T04:27:25'),
      'from the future': () => withChange(version, 'T04:32:26', 'T04:37:28'),
      'with an assigner that is not a BIC': () => withChange(version, BIC, 'TIBA'),
      'with a bank that is not a BIC': () => withChange(version, 'BRINIDJA', 'brinidja'),
      'with letters in the account': () => withChange(version, '8260371234', '826037123A'),
      'with 35 digits in the account': () => withChange(version, '8260371234', '1'.repeat(35)),
      'with the account identification of the other version': () =>
        withChange(version, ACCOUNTS[version], ACCOUNTS[version === '03' ? '04' : '03']),
      'with text between elements': () => withChange(version, '<Assgnmt>', '<Assgnmt>x'),
      'with a comment': () => withChange(version, '<Assgnmt>', '<Assgnmt><!-- x -->'),
      'with CDATA': () => withChange(version, /<MsgId>([^<]*)/, '<MsgId><![CDATA[$1]]>'),
      'with a processing instruction': () => withChange(version, '<Assgnmt>', '<?x?><Assgnmt>'),
      'with a DOCTYPE': () => withChange(version, '<Document', '<!DOCTYPE Document><Document'),
      'with an entity of its own': () => withChange(version, '<MsgId>', '<MsgId>&x;'),
      'with overlapping tags': () => withChange(version, '</Agt></Assgnr>', '</Assgnr></Agt>'),
      'that is truncated': () => withChange(version, '</Document>', ''),
      'with content after the root element': () => withChange(version, '</Document>', '</Document><Document/>'),
      'that is empty': () => '',
      'that is JSON': () => '{}',
      '3,000 levels deep': () => '<a>'.repeat(3_000),
    };
    for (const [fault, request] of Object.entries(MALFORMED)) {
      it(`rejects a request ${fault}`, async () => {
        assert.equal(await outcome(request()), '400 FF01');
      });
    }

    // The numbering scheme of accounts in V04 is not known.
    if (version === '03') {
      it('rejects an account of another numbering scheme', async () => {
        assert.equal(await outcome(withChange(version, 'ACCT', 'CARD')), '400 FF01');
      });
    }

    it('rejects a request that is not UTF-8', async () => {
      const body = Uint8Array.from(Buffer.from(withChange(version, '<MsgId>', '<MsgId>\u00e9'), 'latin1'));
      assert.equal(await outcome(body), '400 FF01');
    });

    it('names the invalid element in a rejection (admi.002)', async () => {
      const { text, type } = await post(withChange(version, '.000Z', '.000'));
      assert.equal(type, 'application/xml; charset=utf-8');
      assert.ok(text.includes('<Document xmlns="urn:iso:std:iso:20022:tech:xsd:admi.002.001.01"><admi.002.001.01>'));
      assert.ok(text.includes('<ErrLctn>Document/IdVrfctnReq/Assgnmt/CreDtTm</ErrLctn>'));
    });

    it('rejects a content type other than XML in UTF-8', async () => {
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

    it('rejects more than 16 KiB, and other paths', async () => {
      assert.equal(await outcome(withChange(version, '<Assgnmt>', `<Assgnmt>${' '.repeat(16 * 1024)}`)), '413 FF01');
      assert.equal((await post(validRequest(version), {}, '/v1.0/account-inquiry-external')).status, 404);
    });

    it('reports an unknown agent, scheme, or bank', async () => {
      assert.equal(await outcome(withChange(version, BIC, 'TIBAIDJY')), '200 false BNOR');
      assert.equal(await outcome(withChange(version, 'TIBASCHEME', 'ANOTHER')), '200 false AGNT');
      assert.equal(await outcome(withChange(version, 'BRINIDJA', 'XXXXIDJA')), '200 false RC04');
    });

    it('reports a MsgId that was used before on the same day, but not one of a rejected request', async () => {
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

/** Invalid variants of a request: each breaks the rules of its `nth` element (from 0) of this name in another way. */
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
