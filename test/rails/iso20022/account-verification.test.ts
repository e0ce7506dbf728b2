import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { validateXML } from 'xmllint-wasm';
import { startBank } from '../../../apps/bank/src/server.ts';
import { writeRequest } from '../../../apps/server/src/rails/acmt/account-inquiry.ts';
import { VERSIONS } from '../../../apps/server/src/rails/acmt/settings.ts';
import { partnerSettings } from '../../bank/partner.ts';
import { rsaKeys } from '../../support/rsa-keys.ts';
import { ACMT_SETTINGS } from '../acmt-connection.ts';
import { SENT } from '../acmt-reports.ts';

/** libxml2 as the judge of the messages of both sides. The schema says what it is and what it is not. */

const template = await readFile(new URL('account-verification.xsd', import.meta.url), 'utf8');

type Message = 'acmt.023' | 'acmt.024';

async function faultsOf(message: Message, version: string, xml: string): Promise<readonly string[]> {
  const schema = template.replaceAll('{message}', message).replaceAll('{version}', version);
  const { errors } = await validateXML({ xml, schema });
  return errors.map((error) => error.message);
}

for (const version of VERSIONS) {
  suite(`acmt.023.001.${version} and acmt.024.001.${version}`, () => {
    const settings = { ...ACMT_SETTINGS, version, accountScheme: version === '03' ? 'ACCT' : null };
    const request = writeRequest(settings, { ...SENT, createdAt: new Date() });

    test('the request of the rail is valid', async () => {
      assert.deepEqual(await faultsOf('acmt.023', version, request), []);
    });

    /** Regression: version 04 had the digits of a domestic number in IBAN. */
    test('a domestic number in IBAN and an element too few are not: the judge does judge', async () => {
      const inIban = request.replace(/<Othr><Id>(\d+)<\/Id>.*?<\/Othr>(?=<\/Id><\/Acct>)/, '<IBAN>$1</IBAN>');
      assert.match((await faultsOf('acmt.023', version, inIban)).join(), /IBAN/);
      const withoutAgent = request.replace(/<Assgnr>.*<\/Assgnr>/, '');
      assert.match((await faultsOf('acmt.023', version, withoutAgent)).join(), /Assgnr/);
    });

    test('the reports of the simulated bank are valid, verified and not', async () => {
      const bank = await startBank({
        ...partnerSettings(rsaKeys()),
        profile: `acmt-${version}`,
        partnerId: settings.agentBic,
      });
      try {
        for (const [account, verified] of [
          ['0012345678', true],
          ['8260370404', false],
        ] as const) {
          const body = request.replace(SENT.accountNumber, account).replaceAll(SENT.messageId, `M${account}`);
          const headers = { 'content-type': 'application/xml' };
          const response = await fetch(`${bank.baseUrl}/v1/account-verification`, { method: 'POST', headers, body });
          const report = await response.text();
          assert.ok(report.includes(`<Vrfctn>${verified}</Vrfctn>`), report);
          assert.deepEqual(await faultsOf('acmt.024', version, report), []);
        }
      } finally {
        await bank.close();
      }
    });
  });
}
