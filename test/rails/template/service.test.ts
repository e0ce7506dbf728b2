import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { PROTOCOLS } from '../../../apps/server/src/rails/protocols.ts';
import { type RailsFileResult, readRailsFile } from '../../../apps/server/src/rails/rails-file.ts';
import { TEMPLATE } from '../../../apps/server/src/rails/template/protocol.ts';
import { startTestService, testBanks } from '../../support/service.ts';
import { createAuthority, type IssuedCertificate } from '../certificates.ts';
import { API_KEY, startTemplateBank } from './bank.ts';

describe('template, from the rails file to a verdict', () => {
  let directory: string;
  let identity: IssuedCertificate;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-template-'));
    const authority = await createAuthority();
    await writeFile(path.join(directory, 'authority.pem'), authority.certificate);
    identity = await authority.issue('bank');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function read(baseUrl: string, apiKey: string): Promise<RailsFileResult> {
    // Yours: an entry as the operator writes it, and the files that it refers to.
    const entry = { api_key_file: 'api-key.txt', ca_file: 'authority.pem' };
    await writeFile(path.join(directory, 'api-key.txt'), apiKey);
    const common = { name: 'bank', protocol: 'template', base_url: baseUrl, banks: ['BRI'] };
    const file = path.join(directory, 'rails.json');
    await writeFile(file, JSON.stringify({ rails: [{ ...common, ...entry }] }));
    // Yours: remove the list and its imports once protocols.ts has your protocol's line.
    return readRailsFile(file, testBanks, { protocols: [...PROTOCOLS, TEMPLATE] });
  }

  async function startServiceAndBank(context: TestContext) {
    const { baseUrl } = await startTemplateBank(context, identity);
    const result = await read(baseUrl, API_KEY);
    assert.ok('connections' in result, JSON.stringify(result));
    const service = await startTestService({ rails: result.connections.map((connection) => connection.open()) });
    context.after(() => service.close());
    return service;
  }

  it('a check-account request over HTTP returns the verdict of the bank', async (context) => {
    const service = await startServiceAndBank(context);
    const check = async (accountNumber: string) =>
      (await service.checkAccount({ bank_code: 'BRI', account_number: accountNumber })).json.data;
    assert.equal((await check('8260371234'))?.['status'], 'ACTIVE');
    assert.equal((await check('8260370404'))?.['status'], 'NOT_FOUND');
  });

  it('a fault of the rails file is reported before the start, without the secret', async () => {
    for (const apiKey of ['', 'two words']) {
      const result = await read('https://bank.example', apiKey);
      assert.ok('faults' in result);
      assert.match(result.faults.join(), /^bank: api_key_file [^]*$/);
      assert.doesNotMatch(result.faults.join(), /two words/);
    }
  });
});
