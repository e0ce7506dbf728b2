import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { createBankDirectory } from '../../apps/server/src/domain/bank.ts';
import bankEntries from '../../apps/server/src/domain/banks.json' with { type: 'json' };
import { readRailsFile } from '../../apps/server/src/rails/rails-file.ts';

const ENTRY = {
  name: 'ethswitch',
  protocol: 'acmt',
  base_url: 'https://scheme.example/gateway/',
  banks: ['BRI'],
  version: '03',
  agent_bic: 'TIBAIDJX',
  scheme_id: 'ETSETAA',
  path: '/v1/account-verification',
  account_scheme: 'ACCT',
  name_element: 'Pty/Nm',
};

describe('an entry of the rails file with the protocol acmt', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tiba-acmt-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  function read(changes: Readonly<Record<string, unknown>>) {
    const file = path.join(folder, 'rails.json');
    writeFileSync(file, JSON.stringify({ rails: [{ ...ENTRY, ...changes }] }));
    return readRailsFile(file, createBankDirectory(bankEntries));
  }

  it('needs no secret, and opens a rail to its banks', async () => {
    const result = read({});
    assert.ok('connections' in result, 'faults' in result ? result.faults.join('\n') : '');
    const [connection] = result.connections;
    assert.equal(connection?.settings.baseUrl, 'https://scheme.example/gateway');
    const rail = connection.open();
    const bank = createBankDirectory(bankEntries).find('BRI');
    assert.ok(bank !== null && rail.reaches(bank));
    assert.equal(rail.inquireStatus, undefined, 'it has no status inquiry');
    await rail.close();
  });

  it('may omit the numbering scheme of accounts', () => {
    assert.ok('connections' in read({ account_scheme: undefined, version: '04' }));
  });

  for (const [field, wrong] of [
    ['version', '02'],
    ['version', undefined],
    ['agent_bic', 'TIBAIDJXX'],
    ['agent_bic', 'tibaidjx'],
    ['agent_bic', undefined],
    ['scheme_id', ''],
    ['scheme_id', 'S'.repeat(36)],
    ['scheme_id', ' ETSETAA'],
    ['scheme_id', 'ETS\nETAA'],
    ['scheme_id', undefined],
    ['path', 'v1'],
    ['path', '/v1?x=1'],
    ['path', '/v1#x'],
    ['path', '/v1 HTTP'],
    ['path', undefined],
    ['account_element', 'IBAN'],
    ['account_scheme', ''],
    ['name_element', 'Nm'],
    ['name_element', undefined],
    ['client_key', 'x'],
  ] as const) {
    it(`is invalid with ${field} ${wrong === undefined ? 'missing' : JSON.stringify(wrong)}`, () => {
      const result = read({ [field]: wrong });
      assert.ok('faults' in result);
      assert.ok(
        result.faults.some((fault) => fault.includes('/rails/0')),
        result.faults.join('\n'),
      );
    });
  }
});
