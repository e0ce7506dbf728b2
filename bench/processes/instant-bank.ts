// A SNAP bank that costs as little as a bank can: it reads the question and answers it at once, without checking tokens
// or signatures, so that what is measured is the service and not the bank.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { addressOf } from '../address-of.ts';
import { liveAsChild } from '../as-child.ts';

export interface InstantBankAddress {
  readonly baseUrl: string;
}

const KEEP_ALIVE_TIMEOUT_MS = 75_000;

type Fields = Readonly<Record<string, string>>;

/** By path: what each service answers to the fields of a request. */
const SERVICES: Readonly<Record<string, (fields: Fields) => Fields>> = {
  '/v1.0/access-token/b2b': () => ({
    responseCode: '2007300',
    responseMessage: 'Successful',
    accessToken: 'an-access-token-of-the-usual-length-which-is-that-of-a-uuid-or-so',
    tokenType: 'Bearer',
    expiresIn: '900',
  }),
  '/v1.0/account-inquiry-internal': (fields) => ({ responseCode: '2001500', ...account(fields) }),
  '/v1.0/account-inquiry-external': (fields) => ({
    responseCode: '2001600',
    ...account(fields),
    beneficiaryBankCode: fields['beneficiaryBankCode'] ?? '',
  }),
};

const account = (fields: Fields): Fields => ({
  responseMessage: 'Successful',
  partnerReferenceNo: fields['partnerReferenceNo'] ?? '',
  beneficiaryAccountName: 'BUDI SANTOSO',
  beneficiaryAccountNo: fields['beneficiaryAccountNo'] ?? '',
  currency: 'IDR',
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const service = SERVICES[request.url ?? ''];
  const fields = JSON.parse(await text(request)) as Fields;
  const body = service === undefined ? '' : JSON.stringify(service(fields));
  response.writeHead(service === undefined ? 404 : 200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

await liveAsChild<InstantBankAddress>(async () => {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: { baseUrl: addressOf(server) },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
});
