// The bank according to its document, and as strict. It shares no code with the rail: with two statements of the same
// facts, an error in one shows.

import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { type AccountOutcome, findAccount } from '../../../apps/bank/src/accounts.ts';
import type { IssuedCertificate } from '../certificates.ts';

export const API_KEY = 'key-of-the-operator';
// Yours: the path in the bank's document.
export const INQUIRY_PATH = '/accounts/lookup';

/** Closed with the test. Uses TLS when it gets a certificate. */
export async function startTemplateBank(
  context: TestContext,
  identity?: IssuedCertificate,
): Promise<{ readonly baseUrl: string }> {
  const handle: RequestListener = (request, response) =>
    void json(request)
      .then((inquiry) => answer(request.url, request.headers.authorization, inquiry, response))
      .catch(() => response.writeHead(400).end());
  const server =
    identity === undefined
      ? createServer(handle)
      : createTlsServer({ cert: identity.certificate, key: identity.privateKey }, handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `${identity === undefined ? 'http' : 'https'}://127.0.0.1:${port}` };
}

function answer(
  path: string | undefined,
  authorization: string | undefined,
  inquiry: unknown,
  response: ServerResponse,
): void {
  // Yours: what the bank rejects, and how: the path, the credentials, the fields of the inquiry.
  if (path !== INQUIRY_PATH) return void response.writeHead(404).end();
  if (authorization !== `Bearer ${API_KEY}`) return void response.writeHead(401).end();
  const fields = inquiry as Readonly<Record<'request_id' | 'bank' | 'account', string>>;
  if (Object.keys(fields).join() !== 'request_id,bank,account') return void response.writeHead(422).end();

  // By the account's last four digits: docs/simulated-bank.md.
  const outcome = findAccount(fields.bank, fields.account);
  if (outcome.kind === 'no-response') return;
  // Yours: the bank's reply when it throttles, and its reply about an account.
  if (outcome.kind === 'too-many-requests') return void response.writeHead(429).end();
  if (outcome.kind === 'malformed') return void response.writeHead(200).end('<html>');
  const holder = outcome.kind === 'active' ? { holder: outcome.holderName } : {};
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ...fields, code: CODES[outcome.kind], ...holder }));
}

// Yours: the bank's codes.
const CODES: Readonly<
  Record<Exclude<AccountOutcome['kind'], 'no-response' | 'too-many-requests' | 'malformed'>, string>
> = {
  active: 'A00',
  blocked: 'A03',
  'not-found': 'A04',
  inactive: 'A10',
  unavailable: 'S01',
};
