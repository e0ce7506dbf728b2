import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type RunningBank, startBank } from '../../apps/bank/src/server.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createPartner, EXTERNAL_PATH, type Partner, partnerSettings } from './partner.ts';

const keys = rsaKeys();
const settings = partnerSettings(keys);
const privateKeyPem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
const ACCOUNT = {
  beneficiaryBankCode: '002',
  beneficiaryAccountNo: '888801000157508',
  partnerReferenceNo: 'gaji Mei é',
};

/** The two signing functions of midtrans-client; the package has no types. */
interface MidtransSigner {
  getAsymmetricSignatureSha256WithRsa(clientId: string, timestamp: string, privateKey: string): string;
  getSymmetricSignatureHmacSh512(
    accessToken: string,
    body: object,
    method: string,
    path: string,
    clientSecret: string,
    timestamp: string,
  ): string;
}

describe('an independent implementation computes the same signatures', () => {
  let bank: RunningBank;
  let partner: Partner;
  before(async () => {
    bank = await startBank(settings);
    partner = createPartner(bank.baseUrl, settings, keys);
  });
  after(() => bank.close());

  it("the bank accepts midtrans-client's signatures for the token and the inquiry", async () => {
    const { SnapBi }: { SnapBi: MidtransSigner } = createRequire(import.meta.url)('midtrans-client');
    const time = partner.timestamp();
    await assertTokenIssued(time, SnapBi.getAsymmetricSignatureSha256WithRsa(settings.clientKey, time, privateKeyPem));
    const token = await partner.authorize();
    const { clientSecret } = settings;
    const signature = SnapBi.getSymmetricSignatureHmacSh512(token, ACCOUNT, 'post', EXTERNAL_PATH, clientSecret, time);
    await assertInquiryAnswered(time, signature);
  });

  const skip = commandIsMissing('openssl');
  it("the bank accepts OpenSSL's signatures for the token and the inquiry", { skip }, async () => {
    const time = partner.timestamp();
    await assertTokenIssued(time, signWithPrivateKey(`${settings.clientKey}|${time}`));
    const token = await partner.authorize();
    const bodyHash = openssl(['dgst', '-sha256', '-binary'], JSON.stringify(ACCOUNT)).toString('hex');
    const signed = ['POST', EXTERNAL_PATH, token, bodyHash, time].join(':');
    const signature = openssl(['dgst', '-sha512', '-hmac', settings.clientSecret, '-binary'], signed);
    await assertInquiryAnswered(time, signature.toString('base64'));
  });

  async function assertTokenIssued(time: string, signature: string): Promise<void> {
    const answer = await partner.requestToken({ headers: { 'X-TIMESTAMP': time, 'X-SIGNATURE': signature } });
    assert.equal(answer.fields['responseCode'], '2007300');
  }

  async function assertInquiryAnswered(time: string, signature: string): Promise<void> {
    const headers = { 'X-TIMESTAMP': time, 'X-SIGNATURE': signature };
    const answer = await partner.send(EXTERNAL_PATH, ACCOUNT, { headers });
    assert.equal(answer.fields['responseCode'], '2001600');
  }
});

function openssl(commandArguments: string[], input: string): Buffer {
  const { status, stdout, stderr } = spawnSync('openssl', commandArguments, { input });
  assert.equal(status, 0, String(stderr));
  return stdout;
}

/** OpenSSL reads a private key from a file only. */
function signWithPrivateKey(signed: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'tiba-bank-'));
  try {
    const file = join(directory, 'private.pem');
    writeFileSync(file, privateKeyPem, { mode: 0o600 });
    return openssl(['dgst', '-sha256', '-sign', file], signed).toString('base64');
  } finally {
    rmSync(directory, { recursive: true });
  }
}
