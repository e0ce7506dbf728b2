import { startBank } from '../../apps/bank/src/server.ts';
import { partnerSettings } from '../bank/partner.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { openBiFastRail, PARTICIPANT } from './bi-fast-hub.ts';
import { testRailConformance } from './conformance.ts';

const settings = { ...partnerSettings(rsaKeys()), profile: 'bi-fast', partnerId: PARTICIPANT } as const;

testRailConformance({
  name: 'BI-FAST',
  async startBank(context) {
    const bank = await startBank(settings);
    context.after(() => bank.close());
    return bank;
  },
  openRail: (baseUrl) => openBiFastRail(baseUrl, { accountEnquiryPath: '/bi-fast', paymentStatusPath: '/bi-fast' }),
  bankCode: 'BRI',
  accountPrefix: '826037',
  // No code for a blocked account is known: the hub only rejects the payment.
  verdicts: { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'none' },
  isInquiry: (path) => path === '/bi-fast',
  wrongReplies: {
    'another account': (text) => text.replace(/("CdtrAcct":\{"Id":\{"Othr":\{"Id":")\d/, '$19'),
    'an unknown code': (text) => text.replace('"U000"', '"U777"'),
    'a field twice': (text) => text.replace('"Nm":', '"Nm":"ANOTHER HOLDER",$&'),
    'no name': (text) => text.replace(/"Nm":"[^"]*"/, '"Nm":""'),
  },
});
