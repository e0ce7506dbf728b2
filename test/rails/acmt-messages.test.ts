import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { accountVerdict, createMessageIds, writeRequest } from '../../apps/server/src/rails/acmt/account-inquiry.ts';
import type { AcmtSettings } from '../../apps/server/src/rails/acmt/settings.ts';
import type { InquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { ACMT_SETTINGS, openAcmtRail } from './acmt-connection.ts';
import { ACCOUNT, BANK, changed, HOLDER, NAMESPACE, reportOf, SENT, unverified, VERIFIED } from './acmt-reports.ts';
import { inquireAccount } from './connection.ts';

const read = (body: string, changes: Partial<AcmtSettings> = {}, status = 200): InquiryOutcome =>
  accountVerdict({ status, body }, { ...ACMT_SETTINGS, ...changes }, SENT);

/** The status or the reason, and the rail code. */
function labelOf(outcome: InquiryOutcome): string {
  const label = outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;
  return `${label} ${outcome.railCode}`;
}

const ACTIVE = { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: HOLDER }, railCode: 'true' };

describe('a request for verification', () => {
  it('is acmt.023.001.03 according to the schema, with the account in Othr', () => {
    assert.equal(
      writeRequest(ACMT_SETTINGS, SENT),
      `<?xml version="1.0" encoding="UTF-8"?>
       <Document xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.023.001.03">
         <IdVrfctnReq>
           <Assgnmt>
             <MsgId>TIBAIDJX2026112100000100000001</MsgId>
             <CreDtTm>2026-11-21T04:32:26.123Z</CreDtTm>
             <Assgnr><Agt><FinInstnId><BICFI>TIBAIDJX</BICFI></FinInstnId></Agt></Assgnr>
             <Assgne><Agt><FinInstnId><Othr><Id>TIBASCHEME</Id></Othr></FinInstnId></Agt></Assgne>
           </Assgnmt>
           <Vrfctn>
             <Id>TIBAIDJX2026112100000100000001V1</Id>
             <PtyAndAcctId>
               <Acct><Id><Othr><Id>0012345678</Id><SchmeNm><Prtry>ACCT</Prtry></SchmeNm></Othr></Id></Acct>
               <Agt><FinInstnId><BICFI>BRINIDJA</BICFI></FinInstnId></Agt>
             </PtyAndAcctId>
           </Vrfctn>
         </IdVrfctnReq>
       </Document>`.replaceAll(/\n */g, ''),
    );
  });

  /** Regression: version 04 had the digits of a domestic number in IBAN, which its schema refuses. */
  it('is acmt.023.001.04 with the account in Othr', () => {
    const request = writeRequest({ ...ACMT_SETTINGS, version: '04', accountScheme: null }, SENT);
    assert.ok(request.includes('<Document xmlns="urn:iso:std:iso:20022:tech:xsd:acmt.023.001.04">'));
    assert.ok(request.includes('<Acct><Id><Othr><Id>0012345678</Id></Othr></Id></Acct>'));
  });

  it('omits the numbering scheme where the settings have none', () => {
    const request = writeRequest({ ...ACMT_SETTINGS, accountScheme: null }, SENT);
    assert.ok(request.includes('<Acct><Id><Othr><Id>0012345678</Id></Othr></Id></Acct>'));
  });

  it('escapes the settings', () => {
    const settings = { ...ACMT_SETTINGS, schemeId: `A&B</Id><"'>`, accountScheme: '<X/>' };
    const request = writeRequest(settings, SENT);
    assert.ok(request.includes('<Othr><Id>A&amp;B&lt;/Id&gt;&lt;&quot;&apos;&gt;</Id></Othr>'));
    assert.ok(request.includes('<Prtry>&lt;X/&gt;</Prtry>'));
  });

  it('has ids that are unique within the day, of at most 35 characters', () => {
    const now = new Date('2026-11-21T04:32:26Z');
    const processes = [createMessageIds('TIBAIDJXXXX'), createMessageIds('TIBAIDJXXXX')];
    const ids = processes.flatMap((next) => Array.from({ length: 2_000 }, () => next(now)));
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^TIBAIDJXXXX20261121\d{14}$/);
  });

  it('is sent by POST as XML, below the base address, each time with new ids and the time', async (context) => {
    const scheme = await startRecorder(context, reportOf(VERIFIED));
    const rail = openAcmtRail(`${scheme.baseUrl}/gateway`);
    context.after(() => rail.close());
    // The recorded report is about another request, so it is not believed.
    assert.equal(labelOf(await inquireAccount(rail, 'BRI', '0012345678')), 'invalid_response null');
    await inquireAccount(rail, 'BRI', '0012345678');
    const [first, second] = scheme.requests;
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(`${first.method} ${first.path}`, 'POST /gateway/v1/account-verification');
    assert.equal(first.headers['content-type'], 'application/xml; charset=utf-8');

    const [messageId = '', verificationId = ''] = idsIn(first.body);
    assert.notEqual(messageId, verificationId);
    assert.ok([messageId, verificationId].every((id) => id.length <= 35));
    assert.ok(idsIn(second.body).every((id) => id !== messageId && id !== verificationId));
    const createdAt = /<CreDtTm>([^<]*)</.exec(first.body)?.[1] ?? '';
    assert.equal(new Date(createdAt).toISOString(), createdAt, 'in UTC, with its zone');
    assert.ok(Math.abs(Date.now() - Date.parse(createdAt)) < 60_000);
    const sent = { ...SENT, messageId, verificationId, createdAt: new Date(createdAt) };
    assert.equal(first.body, writeRequest(ACMT_SETTINGS, sent));
  });
});

describe('a report on an account', () => {
  it('that verifies it has the name of its holder', () => {
    assert.deepEqual(read(reportOf(VERIFIED)), ACTIVE);
  });

  for (const [what, body] of Object.entries({
    'in version 04, when that was agreed': changed('acmt.024.001.03', 'acmt.024.001.04'),
    'with a prefix for its namespace': reportOf(VERIFIED)
      .replaceAll(/<(\/?)(?=[A-Z])/g, '<$1iso:')
      .replace('xmlns=', 'xmlns:iso='),
    'with 1 for true, and white space around it': changed('<Vrfctn>true', '<Vrfctn>\n  1\n'),
    'without a declaration': changed(/^<\?xml.*\?>\n/, ''),
    'without OrgnlAssgnmt': changed(/<OrgnlAssgnmt>.*<\/OrgnlAssgnmt>/, ''),
    'with the account in IBAN': changed(/<Othr><Id>0012345678<.*?<\/Othr>/g, '<IBAN>0012345678</IBAN>'),
    'with the account in one place only': changed(/<OrgnlPtyAndAcctId>.*<\/OrgnlPtyAndAcctId>/, ''),
    'with the branch of the bank': changed('BRINIDJA', 'BRINIDJAXXX'),
    'with another report next to it': changed('</Rpt>', '</Rpt><Rpt><OrgnlId>X</OrgnlId><Vrfctn>false</Vrfctn></Rpt>'),
    'with supplementary data of any kind': changed(
      '</IdVrfctnRpt>',
      '<SplmtryData><Envlp><x:Tier xmlns:x="urn:x">3</x:Tier></Envlp></SplmtryData></IdVrfctnRpt>',
    ),
    'with attributes that look like elements': changed('<Rpt>', '<Rpt Vrfctn="false" Rsn="AC01">'),
    'with elements of another namespace that look like its own': changed(
      '</Vrfctn>',
      '</Vrfctn><x:Vrfctn xmlns:x="urn:x">false</x:Vrfctn>',
    ),
  })) {
    it(`is read ${what}`, () => {
      assert.deepEqual(read(body, { version: body.includes('001.04') ? '04' : '03' }), ACTIVE);
    });
  }

  it('has the name in the element of the settings, and nowhere else', () => {
    const nexus = changed(
      `${ACCOUNT}${BANK}</Updtd`,
      `${ACCOUNT.replace('</Acct>', '<Nm>BUDI S.</Nm></Acct>')}</Updtd`,
    );
    const outcome = read(nexus, { nameElement: 'Acct/Nm' });
    assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE');
    assert.equal(outcome.verdict.accountName, 'BUDI S.');
    assert.deepEqual(read(nexus), ACTIVE);
    assert.equal(labelOf(read(reportOf(VERIFIED), { nameElement: 'Acct/Nm' })), 'invalid_response true');
  });

  for (const [written, name] of [
    ['PT SINAR &amp; SONS', 'PT SINAR & SONS'],
    ['D&apos;ARCY &#x201C;DEDE&#8221;', "D'ARCY “DEDE”"],
    ['&amp;lt;', '&lt;'],
    ['  RINA  ', 'RINA'],
    ['E\u0301KA', 'ÉKA'],
    ['00012', '00012'],
    ['true', 'true'],
  ] as const) {
    it(`gives the name ${name} for ${JSON.stringify(written)}`, () => {
      const outcome = read(changed(HOLDER, written));
      assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE', JSON.stringify(outcome));
      assert.equal(outcome.verdict.accountName, name);
    });
  }
});

describe('a report that does not verify an account', () => {
  const REASONS: Readonly<Record<string, string>> = {
    AC01: 'NOT_FOUND',
    AG01: 'BLOCKED',
    DS28: 'bank_unavailable',
    NR01: 'bank_unavailable',
    TM01: 'bank_unavailable',
    NORR: 'timeout',
    AGNT: 'credentials_rejected',
    BNOR: 'credentials_rejected',
    RC03: 'credentials_rejected',
    RC04: 'credentials_rejected',
    FF01: 'rejected_by_bank',
    DUPL: 'credentials_rejected',
    MS03: 'invalid_response',
    PI01: 'invalid_response',
    PN01: 'invalid_response',
    PN02: 'invalid_response',
  };
  const PROPRIETARY: Readonly<Record<string, string>> = { AC04: 'INACTIVE', AC06: 'BLOCKED', AC07: 'INACTIVE' };

  for (const [code, label] of Object.entries(REASONS)) {
    it(`for ${code} is ${label}`, () => {
      assert.equal(labelOf(read(reportOf(unverified(`<Rsn><Cd>${code}</Cd></Rsn>`)))), `${label} Cd ${code}`);
    });
  }

  for (const [code, label] of Object.entries(PROPRIETARY)) {
    it(`for the scheme's own ${code} is ${label}, and invalid when the code is given as one of ISO's`, () => {
      assert.equal(labelOf(read(reportOf(unverified(`<Rsn><Prtry>${code}</Prtry></Rsn>`)))), `${label} Prtry ${code}`);
      assert.equal(labelOf(read(reportOf(unverified(`<Rsn><Cd>${code}</Cd></Rsn>`)))), `invalid_response Cd ${code}`);
    });
  }

  it('is documented code by code', () => {
    const documented = readFileSync(new URL('../../docs/iso20022.md', import.meta.url), 'utf8');
    for (const code of [...Object.keys(REASONS), ...Object.keys(PROPRIETARY)])
      assert.match(documented, new RegExp(`\\b${code}\\b`));
  });

  for (const reason of [
    '',
    '<Rsn/>',
    '<Rsn><Cd/></Rsn>',
    '<Rsn><Cd>ac01</Cd></Rsn>',
    '<Rsn><Cd> AC01 </Cd></Rsn>',
    '<Rsn><Cd>AC0&#49;X</Cd></Rsn>',
    '<Rsn><Cd>toString</Cd></Rsn>',
    '<Rsn><Cd>AC01</Cd><Prtry>AC04</Prtry></Rsn>',
    '<Rsn><Cd>AC01</Cd><Cd>AC01</Cd></Rsn>',
    '<Rsn><Cd>AC01</Cd></Rsn><Rsn><Cd>AC01</Cd></Rsn>',
    '<Rsn Cd="AC01"/>',
    '<Rsn><x:Cd xmlns:x="urn:x">AC01</x:Cd></Rsn>',
    '<Rsn xmlns=""><Cd>AC01</Cd></Rsn>',
    '<Rsn><Prtry>AC01</Prtry></Rsn>',
    '<Rsn><Prtry>Account 0012345678 not found</Prtry></Rsn>',
  ]) {
    it(`for ${reason || 'no reason'} is invalid, and its text is not in the rail code`, () => {
      const outcome = read(reportOf(unverified(reason)));
      assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : outcome.verdict.status, 'invalid_response');
      assert.match(outcome.railCode ?? '', /^(?:|Prtry AC01)$/);
    });
  }

  it('is believed without the account, because the ids identify the inquiry', () => {
    const body = reportOf(unverified('<Rsn><Cd>AC01</Cd></Rsn>')).replace(
      /<OrgnlPtyAndAcctId>.*<\/OrgnlPtyAndAcctId>/,
      '',
    );
    assert.equal(labelOf(read(body)), 'NOT_FOUND Cd AC01');
  });

  it('is believed only with HTTP 200', () => {
    const body = reportOf(unverified('<Rsn><Cd>AC01</Cd></Rsn>'));
    const expected = {
      202: 'bank_unavailable',
      302: 'invalid_response',
      400: 'credentials_rejected',
      404: 'credentials_rejected',
      429: 'throttled',
    };
    for (const [status, reason] of Object.entries({ ...expected, 500: 'bank_unavailable', 504: 'timeout' })) {
      assert.equal(labelOf(read(body, {}, Number(status))), `${reason} null`);
    }
  });
});

describe('an invalid report is not believed', () => {
  const WRONG: Readonly<Record<string, string>> = {
    'about another verification': changed(`<OrgnlId>${SENT.verificationId}`, '<OrgnlId>ANOTHER'),
    "with the message's id for the verification's": changed(SENT.verificationId, SENT.messageId),
    'in answer to another message': changed(`<MsgId>${SENT.messageId}`, '<MsgId>ANOTHER'),
    'that is present twice': changed('</Rpt>', `</Rpt><Rpt>${unverified('<Rsn><Cd>AC01</Cd></Rsn>')}</Rpt>`),
    'about another account': changed('0012345678', '9912345678'),
    'about the account without its zeros': changed('0012345678', '12345678'),
    'about another account, in one of two places': changed(/0012345678/, '9912345678'),
    'with two numbers for the account': changed('<Othr><Id>0012345678', '<IBAN>0012345678</IBAN><Othr><Id>0012345678'),
    'about no account': changed(ACCOUNT, ''),
    'about an account of another bank': changed('BRINIDJA', 'BMRIIDJA'),
    'without Vrfctn': changed('<Vrfctn>true</Vrfctn>', ''),
    'with two Vrfctn': changed('<Vrfctn>true</Vrfctn>', '<Vrfctn>true</Vrfctn><Vrfctn>true</Vrfctn>'),
    'with yes for true': changed('<Vrfctn>true', '<Vrfctn>yes'),
    'with Vrfctn as an attribute': changed('<Rpt>', '<Rpt Vrfctn="true">').replace('<Vrfctn>true</Vrfctn>', ''),
    'with elements in Vrfctn': changed('<Vrfctn>true', '<Vrfctn>true<b/>'),
    'that verifies, with a reason why not': changed('</Vrfctn>', '</Vrfctn><Rsn><Cd>AC01</Cd></Rsn>'),
    'without a name': changed(`<Pty><Nm>${HOLDER}</Nm></Pty>`, ''),
    'with a blank name': changed(HOLDER, ' &#32; '),
    'with two names': changed('</Nm></Pty>', '</Nm><Nm>SITI</Nm></Pty>'),
    'with elements in the name': changed(HOLDER, 'BUDI <b>SANTOSO</b>'),
    'with a name of more than 140 characters': changed(HOLDER, 'B'.repeat(141)),
    'with a line feed in the name': changed(HOLDER, 'BUDI&#10;SANTOSO'),
    'without Assgnmt': changed(/<Assgnmt>[^]*<\/Assgnmt>/, ''),
    'with two Assgnmt': changed('</Assgnmt>', '</Assgnmt><Assgnmt><MsgId>X</MsgId></Assgnmt>'),
    'without a message id': changed('<MsgId>SCHEME20261121000001</MsgId>', ''),
    'in another version': changed('acmt.024.001.03', 'acmt.024.001.04'),
    'of another kind': changed('acmt.024', 'acmt.023'),
    'with another root': changed(/Document/g, 'Dokument'),
    'with neither true nor false, but a reason': changed('true</Vrfctn>', 'no</Vrfctn><Rsn><Cd>AC01</Cd></Rsn>'),
    'in no namespace': changed(` xmlns="${NAMESPACE}"`, ''),
    'with an element in no namespace': changed('<UpdtdPtyAndAcctId>', '<UpdtdPtyAndAcctId xmlns="">'),
    'with an undeclared prefix': changed('<Rpt>', '<x:Y/><Rpt>'),
    'in an envelope': `<Envelope>${changed(/^<\?xml.*\?>\n/, '')}</Envelope>`,
  };

  const HOSTILE: Readonly<Record<string, string>> = {
    'that is empty': '',
    'that is JSON': '{"Vrfctn":true}',
    'that is truncated': reportOf(VERIFIED).slice(0, -5),
    'with text after it': `${reportOf(VERIFIED)}x`,
    'with another document after it': `${reportOf(VERIFIED)}<Document/>`,
    'with an empty document before it': changed('<Document ', '<Document/><Document '),
    'with a DOCTYPE': changed('<Document ', '<!DOCTYPE Document><Document '),
    'with an entity bomb': changed(
      '<Document ',
      '<!DOCTYPE D [<!ENTITY a "BUDI"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><Document ',
    ).replace(HOLDER, '&c;'),
    'with an external entity': changed(
      '<Document ',
      '<!DOCTYPE D [<!ENTITY x SYSTEM "file:///etc/passwd">]><Document ',
    ).replace(HOLDER, '&x;'),
    'with an external DTD': changed('<Document ', '<!DOCTYPE D SYSTEM "http://127.0.0.1/x.dtd"><Document '),
    'with an undeclared entity': changed(HOLDER, 'BUDI &nbsp;'),
    'with an entity in capitals': changed(HOLDER, 'BUDI &AMP; SITI'),
    'with a bare ampersand': changed(HOLDER, 'BUDI & SITI'),
    'with a character that does not exist': changed(HOLDER, 'BUDI &#x110000;'),
    'with half a surrogate pair': changed(HOLDER, 'BUDI &#xD800;'),
    'with a character that XML does not allow': changed(HOLDER, 'BUDI \uffff'),
    'with a control character in an element that is not read': changed('<MsgId>SCHEME', '<MsgId>\u0001SCHEME'),
    'with a reference to one in an element that is not read': changed('<MsgId>SCHEME', '<MsgId>&#1;SCHEME'),
    'with a reference to a character that XML does not allow': changed(HOLDER, 'BUDI &#xFFFF;'),
    'with NUL': changed(HOLDER, 'BUDI &#0;'),
    'with a control character': changed(HOLDER, 'BUDI \u0007'),
    'with a comment in a value': changed('<Vrfctn>true', '<Vrfctn>tr<!-- -->ue'),
    'with a comment that hides an element': changed('<Vrfctn>', '<!--<Vrfctn>false</Vrfctn>--><Vrfctn>'),
    'with CDATA': changed(HOLDER, '<![CDATA[BUDI <b>]]>'),
    'with a processing instruction': changed('<Vrfctn>', '<?php phpinfo() ?><Vrfctn>'),
    'with a stylesheet': changed('<Document ', '<?xml-stylesheet href="http://127.0.0.1/"?><Document '),
    'with a declaration in the middle': changed('<Rpt>', '<?xml version="1.0"?><Rpt>'),
    'with a wrong encoding in its declaration': changed('UTF-8', 'UTF-16'),
    'in XML 1.1': changed('version="1.0"', 'version="1.1"'),
    'with a closing tag that closes itself': changed('</Vrfctn>', '</Vrfctn/></Vrfctn>'),
    'with tags that cross': changed('</Pty><Acct>', '<Acct></Pty>'),
    'with a tag that is not closed': changed('</Vrfctn>', ''),
    'with an attribute twice': changed('<Rpt>', '<Rpt a="1" a="2">'),
    'with an attribute without quotes': changed('<Rpt>', '<Rpt a=1>'),
    'with a tag in an attribute': changed('<Rpt>', '<Rpt a="<Vrfctn>">'),
    'with text between elements': changed('<Rpt>', '<Rpt>AC01'),
    'with __proto__ for an element': changed('</Vrfctn>', '</Vrfctn><__proto__><polluted>1</polluted></__proto__>'),
    'with constructor for an element': changed('</Vrfctn>', '</Vrfctn><constructor/>'),
    'with __proto__ for an attribute': changed('<Rpt>', '<Rpt __proto__="1">'),
    '10,000 levels deep': changed(HOLDER, `${'<a>'.repeat(10_000)}${'</a>'.repeat(10_000)}`),
    '10,000 levels deep, none of them closed': '<a>'.repeat(10_000),
    'with 60,000 spaces in a tag': changed('<Rpt>', `<Rpt${' '.repeat(60_000)}x>`),
  };

  for (const [what, body] of Object.entries({ ...WRONG, ...HOSTILE })) {
    it(what, () => {
      const startedMs = performance.now();
      const outcome = read(body);
      assert.ok(performance.now() - startedMs < timeLimitMs(1_000), 'reading is fast');
      assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : outcome, 'invalid_response');
      assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    });
  }
});

const idsIn = (body: string): string[] =>
  [...body.matchAll(/<MsgId>([^<]*)<|<Vrfctn><Id>([^<]*)</g)].map(
    ([, message, verification]) => message ?? verification ?? '',
  );

interface Recorded {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends the same reply to every request, and records the requests. Closed with the test. */
async function startRecorder(context: TestContext, reply: string) {
  const requests: Recorded[] = [];
  const server = createServer((request, response) => {
    text(request)
      .then((body) => {
        requests.push({ method: request.method, path: request.url, headers: request.headers, body });
        response.writeHead(200, { 'content-type': 'application/xml' }).end(reply);
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the recorder has no port');
  return { baseUrl: `http://127.0.0.1:${address.port}`, requests };
}
