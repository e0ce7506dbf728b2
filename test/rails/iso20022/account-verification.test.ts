import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startBank } from '../../../apps/bank/src/server.ts';
import { writeRequest } from '../../../apps/server/src/rails/acmt/account-inquiry.ts';
import { VERSIONS } from '../../../apps/server/src/rails/acmt/settings.ts';
import { partnerSettings } from '../../bank/partner.ts';
import { rsaKeys } from '../../support/rsa-keys.ts';
import { ACMT_SETTINGS } from '../acmt-connection.ts';
import { reportOf, SENT, unverified, VERIFIED } from '../acmt-reports.ts';
import { faultsOf } from './judge.ts';

/** libxml2 as the judge of the messages of both sides. */

const faultsIn = (message: 'acmt.023' | 'acmt.024', version: string, xml: string): Promise<readonly string[]> =>
  faultsOf(xml, 'account-verification.xsd', { message, version });

for (const version of VERSIONS) {
  suite(`acmt.023.001.${version} and acmt.024.001.${version}`, () => {
    const settings = { ...ACMT_SETTINGS, version, accountScheme: version === '03' ? 'ACCT' : null };
    const request = writeRequest(settings, { ...SENT, createdAt: new Date() });

    test('the request of the rail is valid', async () => {
      assert.deepEqual(await faultsIn('acmt.023', version, request), []);
    });

    /** Regression: version 04 had the digits of a domestic number in IBAN. */
    test('a domestic number in IBAN and an element too few are not: the judge does judge', async () => {
      const inIban = request.replace(/<Othr><Id>(\d+)<\/Id>.*?<\/Othr>(?=<\/Id><\/Acct>)/, '<IBAN>$1</IBAN>');
      assert.match((await faultsIn('acmt.023', version, inIban)).join(), /IBAN/);
      const withoutAgent = request.replace(/<Assgnr>.*<\/Assgnr>/, '');
      assert.match((await faultsIn('acmt.023', version, withoutAgent)).join(), /Assgnr/);
    });

    test('the reports that the tests of the rail read are valid, and one without its verdict is not', async () => {
      const reasons = ['<Rsn><Cd>AC01</Cd></Rsn>', '<Rsn><Prtry>AC04</Prtry></Rsn>', ''];
      for (const content of [VERIFIED, ...reasons.map(unverified)]) {
        const report = reportOf(content).replace('.001.03"', `.001.${version}"`);
        assert.deepEqual(await faultsIn('acmt.024', version, report), []);
        const undecided = report.replace(/<Vrfctn>.*<\/Vrfctn>/, '');
        assert.match((await faultsIn('acmt.024', version, undecided)).join(), /Vrfctn/);
      }
    });

    test('the reports and the rejection of the simulated bank are valid', async () => {
      const bank = await startBank({
        ...partnerSettings(rsaKeys()),
        profile: `acmt-${version}`,
        partnerId: settings.agentBic,
      });
      const post = async (body: string): Promise<string> => {
        const headers = { 'content-type': 'application/xml' };
        const response = await fetch(`${bank.baseUrl}/v1/account-verification`, { method: 'POST', headers, body });
        return response.text();
      };
      try {
        for (const [account, verified] of [
          ['0012345678', true],
          ['8260370404', false],
        ] as const) {
          const body = request.replace(SENT.accountNumber, account).replaceAll(SENT.messageId, `M${account}`);
          const report = await post(body);
          assert.ok(report.includes(`<Vrfctn>${verified}</Vrfctn>`), report);
          assert.deepEqual(await faultsIn('acmt.024', version, report), []);
        }
        for (const invalid of ['<x/>', request.replace('</CreDtTm>', 'x</CreDtTm>')]) {
          const rejection = await post(invalid);
          assert.deepEqual(await faultsOf(rejection, 'admi.002.001.01.xsd'), [], rejection);
          const withoutReference = rejection.replace(/<RltdRef>.*<\/RltdRef>/, '');
          assert.match((await faultsOf(withoutReference, 'admi.002.001.01.xsd')).join(), /RltdRef/);
        }
      } finally {
        await bank.close();
      }
    });
  });
}
