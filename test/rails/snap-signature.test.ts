import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commandIsMissing } from '../support/required-command.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { CLIENT_KEY, CLIENT_SECRET, inquireAccount } from './connection.ts';
import {
  type BankRequest,
  EXTERNAL_PATH,
  INTERNAL_PATH,
  type ScriptedBank,
  startScriptedBank,
} from './scripted-bank.ts';

const withoutOpenSsl = commandIsMissing('openssl');

/** The two signing functions of midtrans-client. The package has no types. */
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
const { SnapBi }: { SnapBi: MidtransSigner } = createRequire(import.meta.url)('midtrans-client');

const keys = rsaKeys();
const PREFIX = '/openapi';
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+07:00$/;

describe('the requests of the SNAP rail', () => {
  let bank: ScriptedBank;
  let tokenRequest: BankRequest;
  let external: BankRequest;
  let internal: BankRequest;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-signature-'));
    bank = await startScriptedBank();
    // The bank's address has a path, which the signature covers too, and ends with a slash.
    const rail = bank.rail(keys, { baseUrl: `${bank.baseUrl}${PREFIX}/` });
    assert.equal((await inquireAccount(rail, 'BRI', '888801000157508')).kind, 'verdict');
    assert.equal((await inquireAccount(rail, 'BCA', '1234567890')).kind, 'verdict');
    [tokenRequest, external, internal] = bank.requests as [BankRequest, BankRequest, BankRequest];
  });
  after(async () => {
    await bank.close();
    await rm(directory, { recursive: true });
  });

  it('have the token signature of midtrans-client, byte for byte', () => {
    assert.equal(
      header(tokenRequest, 'x-signature'),
      SnapBi.getAsymmetricSignatureSha256WithRsa(CLIENT_KEY, header(tokenRequest, 'x-timestamp'), privateKeyPem()),
    );
  });

  it('have the inquiry signatures of midtrans-client, byte for byte', () => {
    for (const request of [external, internal]) {
      const signature = SnapBi.getSymmetricSignatureHmacSh512(
        tokenOf(request),
        JSON.parse(request.body),
        request.method,
        request.path,
        CLIENT_SECRET,
        header(request, 'x-timestamp'),
      );
      assert.equal(header(request, 'x-signature'), signature);
    }
  });

  it("have a token signature that OpenSSL's command line verifies", { skip: withoutOpenSsl }, async () => {
    const publicKeyFile = path.join(directory, 'public.pem');
    const signatureFile = path.join(directory, 'signature');
    await writeFile(publicKeyFile, keys.publicKey.export({ type: 'spki', format: 'pem' }));
    await writeFile(signatureFile, Buffer.from(header(tokenRequest, 'x-signature'), 'base64'));
    const verify = ['dgst', '-sha256', '-verify', publicKeyFile, '-signature', signatureFile];
    assert.match(openssl(verify, `${CLIENT_KEY}|${header(tokenRequest, 'x-timestamp')}`).toString(), /Verified OK/);
  });

  it("have the inquiry signatures of OpenSSL's command line, byte for byte", { skip: withoutOpenSsl }, () => {
    for (const request of [external, internal]) {
      const bodyHash = openssl(['dgst', '-sha256', '-binary'], request.body).toString('hex');
      const timestamp = header(request, 'x-timestamp');
      const signed = [request.method, request.path, tokenOf(request), bodyHash, timestamp].join(':');
      const hmac = openssl(['dgst', '-sha512', '-hmac', CLIENT_SECRET, '-binary'], signed);
      assert.equal(header(request, 'x-signature'), hmac.toString('base64'));
    }
  });

  it('have the paths, headers and bodies of the standard', () => {
    assert.equal(tokenRequest.path, `${PREFIX}/v1.0/access-token/b2b`);
    assert.equal(tokenRequest.body, '{"grantType":"client_credentials"}');
    assert.equal(header(tokenRequest, 'x-client-key'), CLIENT_KEY);
    assert.equal(external.path, PREFIX + EXTERNAL_PATH);
    assert.equal(internal.path, PREFIX + INTERNAL_PATH);
    for (const request of bank.requests) {
      assert.equal(request.method, 'POST');
      assert.equal(header(request, 'content-type'), 'application/json');
      assert.match(header(request, 'x-timestamp'), TIMESTAMP);
      assert.ok(Math.abs(Date.parse(header(request, 'x-timestamp')) - Date.now()) < 30_000);
      // The rail does not decompress replies, so it must not accept compressed ones.
      assert.equal(request.headers['accept-encoding'], undefined);
    }
    for (const request of [external, internal]) {
      assert.equal(tokenOf(request), 'token-1');
      assert.equal(header(request, 'x-partner-id'), 'TIBATEST');
      assert.equal(header(request, 'channel-id'), '95221');
      assert.match(header(request, 'x-external-id'), /^\d{1,19}$/);
    }
    assert.notEqual(header(external, 'x-external-id'), header(internal, 'x-external-id'));
  });

  it('are minified JSON with the fields of the inquiry, without a bank code in an internal inquiry', () => {
    for (const request of [external, internal]) assert.equal(request.body, JSON.stringify(JSON.parse(request.body)));
    const { partnerReferenceNo: externalReference = '', ...externalFields } = external.fields;
    const { partnerReferenceNo: internalReference = '', ...internalFields } = internal.fields;
    assert.deepEqual(externalFields, { beneficiaryBankCode: 'BRINIDJA', beneficiaryAccountNo: '888801000157508' });
    assert.deepEqual(internalFields, { beneficiaryAccountNo: '1234567890' });
    assert.match(externalReference, /^.{1,64}$/);
    assert.notEqual(externalReference, internalReference);
  });
});

const privateKeyPem = (): string => keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
const header = (request: BankRequest, name: string): string => String(request.headers[name]);
const tokenOf = (request: BankRequest): string => header(request, 'authorization').replace(/^Bearer /, '');

function openssl(args: string[], input: string): Buffer {
  const { status, stdout, stderr } = spawnSync('openssl', args, { input });
  assert.equal(status, 0, String(stderr));
  return stdout;
}
