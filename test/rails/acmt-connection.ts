// An acmt rail to the simulated bank, or to a server of the test.

import type { TestContext } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import type { BankProfileName } from '../../apps/bank/src/settings.ts';
import { createAcmtRail } from '../../apps/server/src/rails/acmt/acmt-rail.ts';
import type { AcmtSettings } from '../../apps/server/src/rails/acmt/settings.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { partnerSettings } from '../bank/partner.ts';
import type { RsaKeys } from '../support/rsa-keys.ts';

const AGENT_BIC = 'TIBAIDJX';

export const ACMT_SETTINGS: AcmtSettings = {
  name: 'scheme',
  baseUrl: 'https://scheme.example',
  version: '03',
  agentBic: AGENT_BIC,
  schemeId: 'TIBASCHEME',
  path: '/v1/account-verification',
  accountScheme: 'ACCT',
  nameElement: 'Pty/Nm',
  banks: null,
};

export const openAcmtRail = (baseUrl: string, changes: Partial<AcmtSettings> = {}): Rail =>
  createAcmtRail({ ...ACMT_SETTINGS, baseUrl, ...changes });

/** The simulated bank as a scheme; closed with the test. */
export async function startScheme(context: TestContext, profile: BankProfileName, keys: RsaKeys): Promise<RunningBank> {
  const bank = await startBank({ ...partnerSettings(keys), profile, partnerId: AGENT_BIC });
  context.after(() => bank.close());
  return bank;
}
