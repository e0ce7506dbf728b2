import { createTemplateRail } from '../../../apps/server/src/rails/template/template-rail.ts';
import { testRailConformance } from '../conformance.ts';
import { API_KEY, INQUIRY_PATH, startTemplateBank } from './bank.ts';

testRailConformance({
  name: 'template',
  startBank: startTemplateBank,
  // Yours: the settings of a connection.
  openRail: (baseUrl) => createTemplateRail({ name: 'template', baseUrl, banks: null, apiKey: API_KEY }),
  bankCode: 'BRI',
  accountPrefix: '826037',
  // Yours: the verdict on accounts in each status; 'none' where the protocol has no code for it.
  verdicts: { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'BLOCKED' },
  isInquiry: (path) => path === INQUIRY_PATH,
  // Yours: a valid reply on account 8260371234, with one thing made wrong.
  wrongReplies: {
    'another account': (text) => text.replace('8260371234', '9260371234'),
    'an unknown code': (text) => text.replace('"A00"', '"A99"'),
    'a field twice': (text) => text.replace('"code":', '"code":"A04",$&'),
    'no name': (text) => text.replace(/"holder":"[^"]*"/, '"holder":" "'),
  },
});
