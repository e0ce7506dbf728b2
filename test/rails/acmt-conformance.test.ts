import type { BankProfileName } from '../../apps/bank/src/settings.ts';
import type { AcmtSettings } from '../../apps/server/src/rails/acmt/settings.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { openAcmtRail, startScheme } from './acmt-connection.ts';
import { testRailConformance } from './conformance.ts';

const keys = rsaKeys();

const SCHEMES: readonly [name: string, profile: BankProfileName, changes: Partial<AcmtSettings>][] = [
  ['acmt V03', 'acmt-03', {}],
  ['acmt V03, names as in Nexus,', 'acmt-03', { nameElement: 'Acct/Nm' }],
  ['acmt V04', 'acmt-04', { version: '04', accountScheme: null }],
];

for (const [name, profile, changes] of SCHEMES) {
  testRailConformance({
    name,
    startBank: (context) => startScheme(context, profile, keys),
    openRail: (baseUrl) => openAcmtRail(baseUrl, changes),
    bankCode: 'BRI',
    accountPrefix: '826037',
    verdicts: { NOT_FOUND: 'NOT_FOUND', INACTIVE: 'INACTIVE', BLOCKED: 'BLOCKED' },
    isInquiry: (path) => path === '/v1/account-verification',
    wrongReplies: {
      'another account': (text) => text.replaceAll('8260371234', '9260371234'),
      'an unknown code': (text) => text.replace('</Vrfctn>', '</Vrfctn><Rsn><Prtry>ZZ99</Prtry></Rsn>'),
      'a field twice': (text) => text.replace('</Vrfctn>', '</Vrfctn><Vrfctn>true</Vrfctn>'),
      'no name': (text) => text.replaceAll(/<Nm>[^<]*<\/Nm>/g, '<Nm> </Nm>'),
    },
  });
}
