import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startBank } from '../../apps/bank/src/server.ts';
import type { BankProfileName, BankSettings } from '../../apps/bank/src/settings.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type Change, createPartner, outcomeOf, partnerSettings } from './partner.ts';

const keys = rsaKeys();

const OTHER_ACCOUNT = { beneficiaryAccountNo: '8888011234', partnerReferenceNo: 'REF-1' };
const SWITCHER = { inquiryService: '1' };
const BI_FAST = {
  inquiryService: '2',
  sourceAccountNo: '8880001000',
  amount: { value: '10000.00', currency: 'IDR' },
  purposeCode: '99',
};
const MANDIRI_BI_FAST = { switcher: 'BIFAST', inquiryType: '1', categoryPurpose: '51001' };

/** A profile of the bank, and valid requests to it. */
interface ProfileFixture {
  readonly profile: BankProfileName;
  readonly token: string;
  readonly internal: string | null;
  readonly external: string;
  readonly headers: Record<string, string>;
  readonly own: Record<string, unknown>;
  readonly other: Record<string, unknown>;
}

const STANDARD: ProfileFixture = {
  profile: 'snap',
  token: '/v1.0/access-token/b2b',
  internal: '/v1.0/account-inquiry-internal',
  external: '/v1.0/account-inquiry-external',
  headers: {},
  own: { beneficiaryAccountNo: '8888011234', partnerReferenceNo: 'REF-1' },
  other: { ...OTHER_ACCOUNT, beneficiaryBankCode: 'BNINIDJA' },
};

const BCA: ProfileFixture = {
  ...STANDARD,
  profile: 'snap-bca',
  token: '/openapi/v1.0/access-token/b2b',
  internal: '/openapi/v1.0/account-inquiry-internal',
  external: '/openapi/v2.0/account-inquiry-external',
  headers: { 'CHANNEL-ID': '95051' },
  other: { ...STANDARD.other, additionalInfo: SWITCHER },
};
const BRI: ProfileFixture = {
  ...STANDARD,
  profile: 'snap-bri',
  internal: '/intrabank/snap/v1.0/account-inquiryinternal',
};
const MANDIRI: ProfileFixture = { ...STANDARD, profile: 'snap-mandiri' };
const MIDTRANS: ProfileFixture = {
  ...STANDARD,
  profile: 'snap-midtrans',
  internal: null,
  other: { ...OTHER_ACCOUNT, beneficiaryBankCode: '0090010' },
};

interface ProfileClient {
  own(fields?: object, change?: Change): Promise<string>;
  other(fields?: object, change?: Change): Promise<string>;
  at(path: string): Promise<string>;
}

async function startProfile(
  context: TestContext,
  fixture: ProfileFixture,
  changes: Partial<BankSettings> = {},
): Promise<ProfileClient> {
  const settings = { ...partnerSettings(keys), profile: fixture.profile, ...changes };
  const bank = await startBank(settings);
  context.after(() => bank.close());
  const partner = createPartner(bank.baseUrl, settings, keys, Date.now, fixture.token);
  const time = (): Record<string, string> =>
    fixture.profile === 'snap-midtrans' ? { 'X-TIMESTAMP': new Date().toISOString() } : {};
  const change: Change = { headers: { ...fixture.headers, ...time() } };
  await partner.authorize({ headers: time() });
  const inquire = async (path: string, body: object, more: Change = {}): Promise<string> =>
    outcomeOf(await partner.send(path, body, { ...more, headers: { ...change.headers, ...more.headers } }));
  return {
    own: (body = {}, more) => inquire(fixture.internal ?? STANDARD.internal ?? '', { ...fixture.own, ...body }, more),
    other: (body = {}, more) => inquire(fixture.external, { ...fixture.other, ...body }, more),
    at: (path) => inquire(path, fixture.other),
  };
}

const withHeaders = (headers: Record<string, string>): Change => ({ headers });

describe('the simulated bank with the profile', () => {
  for (const fixture of [STANDARD, BCA, BRI, MANDIRI, MIDTRANS]) {
    it(`${fixture.profile} accepts valid requests`, async (context) => {
      const { own, other } = await startProfile(context, fixture);
      assert.equal(await other(), '200 2001600 Successful');
      const withoutOwn = '404 4040002 Invalid Routing';
      assert.equal(await own(), fixture.internal === null ? withoutOwn : '200 2001500 Successful');
    });

    it(`${fixture.profile} requires the ORIGIN header if one is configured`, async (context) => {
      const { other } = await startProfile(context, fixture, { origin: 'tiba.example' });
      assert.equal(await other(), '400 4001602 Invalid Mandatory Field {ORIGIN}');
      assert.equal(await other({}, withHeaders({ ORIGIN: 'else.example' })), '401 4011600 Unauthorized. [ORIGIN]');
      assert.equal(
        await other({}, withHeaders({ 'X-ORIGIN': 'tiba.example' })),
        '400 4001602 Invalid Mandatory Field {ORIGIN}',
      );
      assert.equal(await other({}, withHeaders({ ORIGIN: 'tiba.example' })), '200 2001600 Successful');
    });
  }

  it('snap-bca is as strict as BCA', async (context) => {
    const { own, other, at } = await startProfile(context, BCA);
    const format = (field: string): string => `400 4001601 Invalid Field Format {${field}}`;
    const missing = (field: string): string => `400 4001602 Invalid Mandatory Field {${field}}`;
    const rejections: readonly [Promise<string>, string][] = [
      [at('/v1.0/account-inquiry-external'), '404 4040002 Invalid Routing'],
      [at('/openapi/v1.0/account-inquiry-external'), '404 4040002 Invalid Routing'],
      [other({}, withHeaders({ 'CHANNEL-ID': '95221' })), '401 4011600 Unauthorized. [CHANNEL-ID]'],
      [other({}, withHeaders({ 'X-EXTERNAL-ID': '1'.repeat(33) })), format('X-EXTERNAL-ID')],
      [other({}, withHeaders({ 'X-PARTNER-ID': 'T'.repeat(11) })), format('X-PARTNER-ID')],
      [other({ beneficiaryBankCode: '009' }), format('beneficiaryBankCode')],
      [other({ beneficiaryBankCode: 'BNINIDJAXXX' }), format('beneficiaryBankCode')],
      [other({ partnerReferenceNo: undefined }), missing('partnerReferenceNo')],
      [other({ additionalInfo: undefined }), missing('additionalInfo')],
      [other({ additionalInfo: { channel: 'web' } }), missing('inquiryService')],
      [other({ additionalInfo: { inquiryService: '3' } }), format('inquiryService')],
      [other({ beneficiaryAccountNo: '8'.repeat(29) }), format('beneficiaryAccountNo')],
      [other({ additionalInfo: { inquiryService: '2' } }), missing('sourceAccountNo')],
      [other({ additionalInfo: { ...BI_FAST, sourceAccountNo: '123' } }), format('sourceAccountNo')],
      [other({ additionalInfo: { ...BI_FAST, amount: undefined } }), missing('amount.value')],
      [other({ additionalInfo: { ...BI_FAST, amount: { value: '1', currency: 'IDR' } } }), format('amount.value')],
      [other({ additionalInfo: { ...BI_FAST, purposeCode: '04' } }), format('purposeCode')],
      [own({ beneficiaryAccountNo: '888801123' }), '400 4001501 Invalid Field Format {beneficiaryAccountNo}'],
      [own({ beneficiaryAccountNo: '8888011234567' }), '400 4001501 Invalid Field Format {beneficiaryAccountNo}'],
      [own({ beneficiaryAccountNo: '8888010410' }), '403 4031518 Inactive Account'],
      [own({ beneficiaryAccountNo: '8888010403' }), '404 4041511 Invalid Account'],
      [other({ beneficiaryAccountNo: '8888010410' }), '404 4041611 Invalid Account'],
      [other({ beneficiaryAccountNo: '8888010429' }), '404 4041602 Invalid Routing'],
    ];
    for (const [outcome, expected] of rejections) assert.equal(await outcome, expected);
    assert.equal(
      await other({ beneficiaryAccountNo: '8'.repeat(34), additionalInfo: BI_FAST }),
      '200 2001600 Successful',
    );
  });

  it('snap-bri is as strict as BRI', async (context) => {
    const { own, at } = await startProfile(context, BRI);
    assert.equal(await at('/v1.0/account-inquiry-internal'), '404 4040002 Invalid Routing');
    assert.equal(
      await own({ beneficiaryAccountNo: '8888010001575081' }),
      '400 4001501 Invalid Field Format {beneficiaryAccountNo}',
    );
    assert.equal(await own({ beneficiaryAccountNo: '888801000157508' }), '200 2001500 Successful');
  });

  it('snap-mandiri is as strict as Mandiri', async (context) => {
    const { other } = await startProfile(context, MANDIRI);
    const format = (field: string): string => `400 4001601 Invalid Field Format {${field}}`;
    assert.equal(await other({}, withHeaders({ 'X-EXTERNAL-ID': '1'.repeat(20) })), format('X-EXTERNAL-ID'));
    assert.equal(await other({}, withHeaders({ 'X-PARTNER-ID': 'T'.repeat(17) })), format('X-PARTNER-ID'));
    assert.equal(await other({ beneficiaryBankCode: 'BNINIDJAXXX' }), format('beneficiaryBankCode'));
    assert.equal(await other({ additionalInfo: { switcher: 'ALTO' } }), format('switcher'));
    for (const [member, outcome] of [
      ['inquiryType', '400 4001602 Invalid Mandatory Field {inquiryType}'],
      ['categoryPurpose', '400 4001602 Invalid Mandatory Field {categoryPurpose}'],
    ] as const) {
      assert.equal(await other({ additionalInfo: { ...MANDIRI_BI_FAST, [member]: undefined } }), outcome);
    }
    for (const additionalInfo of [{ switcher: 'PRIMA' }, { switcher: 'ATMB' }, MANDIRI_BI_FAST]) {
      assert.equal(await other({ additionalInfo }), '200 2001600 Successful');
    }
    const byAlias = {
      ...MANDIRI_BI_FAST,
      inquiryType: '2',
      debtorAccount: '1234567890',
      lookUpType: 'PXRS',
      aliasType: '02',
      aliasValue: 'budi@example.com',
    };
    const alias = (changes: object, beneficiaryAccountNo = 'budi@example.com') =>
      other({ beneficiaryAccountNo, additionalInfo: { ...byAlias, ...changes } });
    assert.equal(await alias({}), '200 2001600 Successful');
    assert.equal(await alias({}, '8888010001'), format('beneficiaryAccountNo'));
    assert.equal(await alias({ inquiryType: '1' }), format('beneficiaryAccountNo'));
    for (const member of ['debtorAccount', 'lookUpType', 'aliasType', 'aliasValue']) {
      assert.equal(await alias({ [member]: undefined }), `400 4001602 Invalid Mandatory Field {${member}}`);
    }
    assert.equal(await alias({ lookUpType: 'PXRX' }), format('lookUpType'));
    assert.equal(await alias({ aliasType: '01' }), format('aliasValue'));
    assert.equal(await alias({ aliasType: '01', aliasValue: '081234567890' }), format('aliasValue'));
    const mobile = { aliasType: '01', aliasValue: '6281234567890' };
    assert.equal(await alias(mobile, '6281234567890'), '200 2001600 Successful');
    const unknown = { aliasValue: 'budi0404@example.com' };
    assert.equal(await alias(unknown, 'budi0404@example.com'), '404 4041611 Invalid Account');
    assert.equal(await other({ beneficiaryAccountNo: '8888010410' }), '404 4041611 Invalid Account');
  });

  it('snap-midtrans is as strict as Midtrans', async (context) => {
    const { other } = await startProfile(context, MIDTRANS);
    const format = (field: string): string => `400 4001601 Invalid Field Format {${field}}`;
    assert.equal(await other({}, withHeaders({ 'X-TIMESTAMP': '2026-11-21T10:30:24+07:00' })), format('X-TIMESTAMP'));
    assert.equal(await other({}, withHeaders({ 'X-TIMESTAMP': '2026-11-21T03:30:24Z' })), format('X-TIMESTAMP'));
    assert.equal(await other({ beneficiaryBankCode: '009' }), format('beneficiaryBankCode'));
    assert.equal(await other({ beneficiaryBankCode: 'BNINIDJA' }), format('beneficiaryBankCode'));
    // A clearing code that is not listed.
    assert.equal(await other({ beneficiaryBankCode: '9990001' }), '400 4001600 Bad Request');
    assert.equal(await other({ beneficiaryAccountNo: '8'.repeat(21) }), format('beneficiaryAccountNo'));
    assert.equal(await other({ beneficiaryAccountNo: '8888010410' }), '403 4031618 Inactive Account');
  });
});
