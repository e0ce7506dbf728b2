import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { parseAccountNumber } from '../../apps/server/src/domain/bank.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import type { CustomerRoute, WalletRoute } from '../../apps/server/src/rails/snap/wallets.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { testBanks } from '../support/service.ts';
import { inquireStatus, inquiryOf, transferTo } from './connection.ts';
import {
  answer,
  answerActive,
  answerStatus,
  type BankAnswer,
  type ScriptedBank,
  startScriptedBank,
} from './scripted-bank.ts';

/** E-wallets over SNAP: service 37, and virtual accounts over service 16. */

const keys = rsaKeys();
const MOBILE = '081234567890';

const DANA: CustomerRoute = {
  service: '37',
  path: '/v1.0/emoney/account-inquiry',
  amount: '1.00',
  additionalInfo: { fundType: 'AGENT_TOPUP_FOR_USER_SETTLE' },
  mobile: 'international',
};
const GOPAY: WalletRoute = {
  service: '16',
  bankCode: { sent: 'BNIAIDJA', echoed: 'BNIAIDJA' },
  prefix: '898',
  mobile: 'national',
};
const OVO: WalletRoute = { ...GOPAY, prefix: '84', mobile: 'international' };

function inquire(rail: Rail, wallet: string, number = MOBILE, timeoutMs = 20_000): Promise<InquiryOutcome> {
  const bank = testBanks.find(wallet);
  const accountNumber = bank === null ? null : parseAccountNumber(bank, number);
  assert.ok(bank !== null && accountNumber !== null);
  return rail.inquireAccount({ bank, accountNumber }, AbortSignal.timeout(timeoutMs));
}

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

describe('what is sent for an e-wallet', () => {
  let bank: ScriptedBank;
  let reply: (fields: Readonly<Record<string, unknown>>) => object | string;
  let status = 200;
  before(async () => {
    const customer: BankAnswer = (request, response) => answer(response, status, reply(request.fields));
    bank = await startScriptedBank({ inquiry: answerActive, other: customer });
  });
  after(() => bank?.close());

  const success = (fields: Readonly<Record<string, unknown>>): object => ({
    responseCode: '2003700',
    responseMessage: 'Successful',
    partnerReferenceNo: fields['partnerReferenceNo'],
    customerNumber: fields['customerNumber'],
    customerName: 'SITI AMINAH',
  });

  const rail = (changes: Partial<SnapSettings> = {}): Rail =>
    bank.rail(keys, {
      wallets: new Map<string, WalletRoute>([
        ['DANA', DANA],
        ['GOPAY', GOPAY],
        ['OVO', OVO],
      ]),
      ...changes,
    });

  it('service 37: the number in the form of the provider, an amount, and what names the wallet', async () => {
    reply = success;
    const outcome = await inquire(rail(), 'DANA');
    assert.deepEqual(outcome, {
      kind: 'verdict',
      verdict: { status: 'ACTIVE', accountName: 'SITI AMINAH' },
      railCode: '2003700',
    });
    const sent = bank.requests.at(-1);
    assert.equal(sent?.path, '/v1.0/emoney/account-inquiry');
    const { partnerReferenceNo, ...others } = sent?.fields ?? {};
    assert.equal(partnerReferenceNo, sent?.headers['x-external-id']);
    assert.deepEqual(others, {
      customerNumber: '6281234567890',
      amount: { value: '1.00', currency: 'IDR' },
      additionalInfo: { fundType: 'AGENT_TOPUP_FOR_USER_SETTLE' },
    });
  });

  it('a virtual account: the prefix and the number, at the bank that holds it', async () => {
    for (const [wallet, number] of [
      ['GOPAY', '898081234567890'],
      ['OVO', '846281234567890'],
    ] as const) {
      assert.equal(labelOf(await inquire(rail(), wallet)), 'ACTIVE');
      const { beneficiaryAccountNo, beneficiaryBankCode } = bank.inquiries.at(-1)?.fields ?? {};
      assert.deepEqual([beneficiaryAccountNo, beneficiaryBankCode], [number, 'BNIAIDJA']);
    }
  });

  it('nothing, where the number with its prefix is too long for the route', async () => {
    const before = bank.requests.length;
    // 13 digits with 22 more exceed the 34 of the standard.
    const long: WalletRoute = { ...GOPAY, prefix: '1'.repeat(22) };
    const narrow = rail({ wallets: new Map([['GOPAY', long]]) });
    assert.equal(labelOf(await inquire(narrow, 'GOPAY', '0812345678901')), 'not_supported');
    assert.equal(bank.requests.length, before);
    assert.equal(labelOf(await inquire(narrow, 'GOPAY', '081234567890')), 'ACTIVE');
  });

  it('a rail reaches the wallets that it has a route for, whether it serves all banks or names them', () => {
    const reaches = (settings: Partial<SnapSettings>, code: string): boolean => {
      const found = testBanks.find(code);
      return found !== null && rail(settings).reaches(found);
    };
    assert.deepEqual(
      ['DANA', 'GOPAY', 'LINKAJA', 'BCA'].map((code) => reaches({}, code)),
      [true, true, false, true],
    );
    const only = { banks: new Set(['DANA']) };
    assert.deepEqual(
      ['DANA', 'GOPAY', 'BCA'].map((code) => reaches(only, code)),
      [true, false, false],
    );
    assert.equal(reaches({ wallets: new Map() }, 'DANA'), false);
  });

  const outcomeFor = async (fields: object | string, httpStatus = 200): Promise<string> => {
    status = httpStatus;
    reply = (sent) => (typeof fields === 'string' ? fields : { ...success(sent), ...fields });
    try {
      return labelOf(await inquire(rail(), 'DANA'));
    } finally {
      status = 200;
    }
  };

  it('a reply is believed only when it is about this inquiry', async () => {
    for (const [fields, expected] of [
      [{ customerNumber: '081234567890' }, 'ACTIVE'],
      [{ customerNumber: '+6281234567890' }, 'ACTIVE'],
      [{ customerNumber: 'XXXXXXXXX7890' }, 'ACTIVE'],
      [{ customerNumber: undefined }, 'ACTIVE'],
      [{ partnerReferenceNo: undefined }, 'ACTIVE'],
      [{ customerNumber: '6281234567891' }, 'invalid_response'],
      [{ customerNumber: 'XXXXXXXXX7891' }, 'invalid_response'],
      [{ customerNumber: { value: '6281234567890' } }, 'invalid_response'],
      [{ partnerReferenceNo: '1' }, 'invalid_response'],
      [{ customerNumber: undefined, partnerReferenceNo: undefined }, 'invalid_response'],
      [{ customerNumber: 'XXXXXXXXX7890', partnerReferenceNo: undefined }, 'invalid_response'],
      [{ customerName: '' }, 'invalid_response'],
      [{ customerName: undefined }, 'invalid_response'],
      [{ customerName: 'A'.repeat(256) }, 'invalid_response'],
      [{ responseCode: '2001600' }, 'invalid_response'],
      [{ responseCode: '2003799' }, 'invalid_response'],
      ['<html>', 'invalid_response'],
    ] as const) {
      assert.equal(await outcomeFor(fields), expected, JSON.stringify(fields));
    }
  });

  it('only a code that is about the account is a verdict', async () => {
    for (const [responseCode, expected] of [
      ['4043711', 'NOT_FOUND'],
      ['4033718', 'INACTIVE'],
      ['4033709', 'INACTIVE'],
      ['4033705', 'BLOCKED'],
      ['4043716', 'credentials_rejected'],
      ['4003701', 'rejected_by_bank'],
      ['4293700', 'throttled'],
      ['5003702', 'bank_unavailable'],
      ['2023700', 'bank_unavailable'],
    ] as const) {
      assert.equal(await outcomeFor({ responseCode }, Number(responseCode.slice(0, 3))), expected, responseCode);
    }
  });
});

// Regression: a transfer to a virtual account stayed in PROCESS, because the bank names the number with its prefix.
describe('the status of a transfer to an e-wallet', () => {
  const STATUSES: readonly (readonly [wallet: string, account: string, status: string])[] = [
    ['GOPAY', '898081234567890', 'SUCCESS'],
    ['GOPAY', '8986281234567890', 'SUCCESS'],
    ['GOPAY', MOBILE, 'SUCCESS'],
    ['GOPAY', '898081234567891', 'invalid_response'],
    ['GOPAY', '84081234567890', 'invalid_response'],
    ['OVO', '846281234567890', 'SUCCESS'],
    ['DANA', '6281234567890', 'SUCCESS'],
    ['DANA', '898081234567890', 'invalid_response'],
    ['BRI', '898081234567890', 'invalid_response'],
  ];
  for (const [wallet, beneficiaryAccountNo, expected] of STATUSES) {
    it(`${wallet}: the account ${beneficiaryAccountNo} is ${expected}`, async (context) => {
      const bank = await startScriptedBank({ status: answerStatus('00', { beneficiaryAccountNo }) });
      context.after(() => bank.close());
      const routes = new Map<string, WalletRoute>([
        ['DANA', DANA],
        ['GOPAY', GOPAY],
        ['OVO', OVO],
      ]);
      const transfer = transferTo('BRI', { ...inquiryOf('BRI', MOBILE), bank: testBanks.find(wallet) });
      const outcome = await inquireStatus(bank.rail(keys, { wallets: routes }), transfer);
      assert.equal(
        outcome.kind === 'status' ? outcome.status : outcome.kind === 'no_status' && outcome.reason,
        expected,
      );
    });
  }
});

describe('the simulated bank as the provider of e-wallets', () => {
  let bank: RunningBank;
  const settings = partnerSettings(keys);
  before(async () => {
    bank = await startBank(settings);
  });
  after(() => bank?.close());

  function connect(changes: Partial<SnapSettings>, productCode: string): Rail {
    const { clientKey, clientSecret, partnerId, channelId } = settings;
    const route: WalletRoute = { ...DANA, additionalInfo: { productCode } };
    return createSnapRail({
      name: 'wallets',
      baseUrl: bank.baseUrl,
      clientKey,
      clientSecret,
      privateKey: keys.privateKey,
      partnerId,
      channelId,
      ownBank: null,
      banks: new Set(['DANA']),
      wallets: new Map([['DANA', route]]),
      ...changes,
    });
  }

  it('knows its wallets, rejects a wrong signature, and may be slow or broken', async () => {
    for (const [changes, productCode, number, expected] of [
      [{}, 'DANA', MOBILE, 'ACTIVE'],
      [{}, 'DANA', '081234560404', 'NOT_FOUND'],
      [{}, 'UNKNOWN', MOBILE, 'credentials_rejected'],
      [{ clientSecret: 'another secret' }, 'DANA', MOBILE, 'credentials_rejected'],
      [{}, 'DANA', '081234560500', 'invalid_response'],
      [{}, 'DANA', '081234560429', 'throttled'],
      [{}, 'DANA', '081234560504', 'timeout'],
    ] as const) {
      const rail = connect(changes, productCode);
      const timeoutMs = expected === 'timeout' ? 500 : 20_000;
      assert.equal(labelOf(await inquire(rail, 'DANA', number, timeoutMs)), expected, `${productCode} ${number}`);
      await rail.close();
    }
  });
});
