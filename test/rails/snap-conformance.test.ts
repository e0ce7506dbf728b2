import { startBank } from '../../apps/bank/src/server.ts';
import { generatePartnerKeys, partnerSettings } from '../bank/partner.ts';
import { conforms } from './conformance.ts';
import { createRail } from './connection.ts';

const keys = generatePartnerKeys();
const settings = partnerSettings(keys);

conforms({
  name: 'SNAP',
  async startBank(context) {
    const bank = await startBank(settings);
    context.after(() => bank.close());
    return bank;
  },
  openRail: (baseUrl) =>
    createRail(baseUrl, keys, {
      clientKey: settings.clientKey,
      clientSecret: settings.clientSecret,
      partnerId: settings.partnerId,
      channelId: settings.channelId,
    }),
  bankCode: 'BRI',
  accountPrefix: '826037',
  tells: { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'BLOCKED' },
  isInquiry: (path) => path.includes('/account-inquiry-'),
  lies: {
    'another account': (text) => text.replace(/"beneficiaryAccountNo":"\d/, '"beneficiaryAccountNo":"9'),
    'an unknown code': (text) => text.replace('"2001600"', '"2001699"'),
    'a field twice': (text) => text.replace('{', '{"beneficiaryAccountName":"SOMEBODY ELSE",'),
    'no name': (text) => text.replace(/"beneficiaryAccountName":"[^"]*"/, '"beneficiaryAccountName":""'),
  },
});
