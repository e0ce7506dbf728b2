import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { SandboxDescription } from '../../apps/server/src/sandbox/description.ts';
import { useTestDirectory } from '../embedded-postgres/harness.ts';
import { type Answer, send } from '../support/requests.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { dataDirectoryOf, type RunningSandbox, startNpmSandbox } from './npm-process.ts';

const OUTCOMES: Readonly<Record<keyof SandboxDescription['accounts'], string>> = {
  active: 'ACTIVE',
  inactive: 'INACTIVE',
  not_found: 'NOT_FOUND',
  blocked: 'BLOCKED',
  unavailable: 'SERVICE_UNAVAILABLE',
  silent: 'SERVICE_UNAVAILABLE',
};

test('npm start', async (t) => {
  const testDirectory = await useTestDirectory(t);
  const sandbox = await startNpmSandbox(testDirectory);
  await testDescription(t, sandbox, dataDirectoryOf(testDirectory));
  await testTransactions(t, sandbox);
  await testAccountsAndCommands(t, sandbox);
});

async function testDescription(t: TestContext, { description }: RunningSandbox, dataDirectory: string): Promise<void> {
  await t.test('describes itself in sandbox.json; only their owner can read its files', async () => {
    for (const name of [
      'sandbox.json',
      'sandbox-secrets.json',
      'snap-private-key.pem',
      'sandbox.lock',
      'bank-journal.ndjson',
      'tiba.log',
    ]) {
      const { mode } = await stat(path.join(dataDirectory, name));
      assert.equal(mode & 0o777, 0o600, name);
    }
    assert.deepEqual(Object.keys(description), [
      'base_url',
      'operator_url',
      'console_url',
      'token_url',
      'clients',
      'feed',
      'snap',
      'transactions',
      'accounts',
    ]);
    for (const key of ['base_url', 'operator_url', 'token_url'] as const) {
      assert.match(description[key], /^http:\/\/127\.0\.0\.1:\d+/);
    }
    assert.equal(description.clients.length, 2);
    assert.deepEqual(Object.keys(description.transactions), ['success', 'failed', 'process']);
    assert.deepEqual(Object.keys(description.accounts), Object.keys(OUTCOMES));
  });

  await t.test('issues tokens that are valid for 24 hours', () => {
    for (const { access_token: token, client_id: clientId } of [...description.clients, description.feed]) {
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      assert.equal(claims.exp - claims.iat, 24 * 60 * 60);
      assert.equal(claims.client_id, clientId);
      assert.ok(Math.abs(claims.iat * 1000 - Date.now()) < 60_000);
    }
  });

  await t.test('has credentials that obtain tokens', async () => {
    for (const { client_id: id, client_secret: secret } of [...description.clients, description.feed]) {
      const response = await fetch(description.token_url, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      assert.equal(response.status, 200);
    }
  });
}

async function testTransactions(t: TestContext, { description }: RunningSandbox): Promise<void> {
  const [shop, payroll] = description.clients;
  const get = (token: string, apiPath: string): Promise<Answer> =>
    send(description.base_url + apiPath, { headers: { authorization: `Bearer ${token}` } });

  for (const [key, ids] of Object.entries(description.transactions)) {
    await t.test(
      `has a transaction in ${key.toUpperCase()} that only its first client finds, by either ID`,
      async () => {
        const reference = encodeURIComponent(ids.reference_id);
        for (const form of [`/${ids.transaction_id}`, `/${reference}`, `?reference_id=${reference}`]) {
          const { status, json } = await get(shop.access_token, `/api/v1/check-status${form}`);
          assert.equal(status, 200);
          assert.equal(json.data?.['transaction_id'], ids.transaction_id);
          assert.equal(json.data['reference_id'], ids.reference_id);
          assert.equal(json.data['status'], key.toUpperCase());
          assert.equal(typeof json.data['failure_reason'], key === 'failed' ? 'string' : 'object');
          const foreign = await get(payroll.access_token, `/api/v1/check-status${form}`);
          assert.equal(foreign.json.error_code, 'TRANSACTION_NOT_FOUND');
        }
      },
    );
  }

  /** Regression: a transaction had succeeded for BUDI SANTOSO, but the account had another holder. */
  await t.test('checks the account of a transaction with the same result: its holder, or NOT_FOUND', async () => {
    const { access_token: token } = shop;
    for (const { reference_id: reference } of Object.values(description.transactions)) {
      const { json } = await get(token, `/api/v1/check-status?reference_id=${encodeURIComponent(reference)}`);
      const recipient = json.data ?? {};
      const account = await send(`${description.base_url}/api/v1/check-account`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ bank_code: recipient['bank_code'], account_number: recipient['account_number'] }),
      });
      if (recipient['status'] === 'FAILED') assert.equal(account.json.data?.['status'], 'NOT_FOUND');
      else assert.equal(account.json.data?.['account_name'], recipient['account_name']);
    }
  });
}

async function testAccountsAndCommands(t: TestContext, sandbox: RunningSandbox): Promise<void> {
  const { description } = sandbox;
  const [shop] = description.clients;

  await t.test('has an account for each outcome', { concurrency: true }, async (accounts) => {
    const tests = Object.entries(OUTCOMES).map(([key, outcome]) =>
      accounts.test(`${key} is ${outcome}`, async () => {
        const { json } = await send(`${description.base_url}/api/v1/check-account`, {
          method: 'POST',
          headers: { authorization: `Bearer ${shop.access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify(description.accounts[key as keyof typeof OUTCOMES]),
        });
        assert.equal(json.data?.['status'] ?? json.error_code, outcome);
        assert.equal(json.data?.['is_valid'], json.data === undefined ? undefined : outcome === 'ACTIVE');
      }),
    );
    await Promise.all(tests);
  });

  await t.test('prints commands that work when they are pasted', { skip: commandIsMissing('curl') }, () => {
    const lines = pastedLines(sandbox);
    const [token = '', byId, byReference, account, core = '', disbursement, ...others] = lines;
    // The request that is signed with OpenSSL is run by test/docs/pasted-commands.test.ts.
    assert.deepEqual(
      others.map((line) => line.endsWith('access-token/b2b')),
      [true],
    );
    const data = (line = ''): Record<string, unknown> => {
      const { stdout, stderr } = spawnSync('bash', ['-c', `${token}\n${core}\n${line}`], { encoding: 'utf8' });
      assert.ok(stdout.startsWith('{'), stderr || stdout);
      return JSON.parse(stdout).data;
    };
    const { success } = description.transactions;
    for (const transaction of [data(byId), data(byReference)]) {
      assert.equal(transaction['transaction_id'], success.transaction_id);
      assert.equal(transaction['reference_id'], success.reference_id);
      assert.equal(transaction['status'], 'SUCCESS');
    }
    const { active } = description.accounts;
    const checked = data(account);
    assert.deepEqual({ ...checked, ...active }, checked);
    assert.equal(checked['status'], 'ACTIVE');
    assert.equal(data(disbursement)['bank'], 'accepted');
  });
}

/** The commands in the banner. */
const pastedLines = (sandbox: RunningSandbox): string[] =>
  sandbox
    .stdout()
    .split('\n')
    .filter((line) => /^(?:TOKEN=|CORE=|curl )/.test(line));
