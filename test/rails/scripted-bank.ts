// A bank whose replies the test scripts, valid and invalid ones. It records the requests, validates nothing and shares
// no code with the rail.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import type { SnapSettings } from '../../apps/server/src/rails/snap/settings.ts';
import type { RsaKeys } from '../support/rsa-keys.ts';
import { createRail } from './connection.ts';

export const INTERNAL_PATH = '/v1.0/account-inquiry-internal';
export const EXTERNAL_PATH = '/v1.0/account-inquiry-external';
export const TRANSFER_STATUS_PATH = '/v1.0/transfer/status';

/** A request as it arrived. */
export interface BankRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Awaited when it returns a promise. */
export type BankAnswer = (request: BankRequest, response: ServerResponse) => unknown;

export interface ScriptedBank {
  readonly baseUrl: string;
  /** Every request in the order of its arrival. */
  readonly requests: readonly BankRequest[];
  readonly tokenRequests: readonly BankRequest[];
  readonly inquiries: readonly BankRequest[];
  readonly statusInquiries: readonly BankRequest[];
  /** A rail to this bank, with the settings of BCA by default. Closed with the bank. */
  rail(keys: RsaKeys, changes?: Partial<SnapSettings>): Rail;
  close(): Promise<void>;
}

export interface Script {
  readonly token?: BankAnswer;
  readonly inquiry?: BankAnswer;
  /** By default every transfer has the status SUCCESS. */
  readonly status?: BankAnswer;
  /** The reply on any other path. */
  readonly other?: BankAnswer;
}

export async function startScriptedBank(script: Script = {}): Promise<ScriptedBank> {
  const requests: BankRequest[] = [];
  const rails: Rail[] = [];
  const isInquiry = ({ path }: BankRequest): boolean => path.includes('/account-inquiry-');
  const isStatusInquiry = ({ path }: BankRequest): boolean => path.endsWith(TRANSFER_STATUS_PATH);
  const tokens = issueToken();
  const isToken = ({ path }: BankRequest): boolean => path.endsWith('/access-token/b2b');

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const body = await text(incoming);
    const request = { method, path, headers, body, fields: JSON.parse(body || '{}') };
    requests.push(request);
    if (isToken(request)) await (script.token ?? tokens)(request, response);
    else if (isInquiry(request)) await (script.inquiry ?? answerActive)(request, response);
    else if (isStatusInquiry(request)) await (script.status ?? answerSuccess)(request, response);
    else await (script.other ?? notFound)(request, response);
  }

  const server = createServer((incoming, response) => void handle(incoming, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the bank has no port');
  const baseUrl = `http://127.0.0.1:${address.port}`;

  return {
    baseUrl,
    requests,
    get tokenRequests() {
      return requests.filter(isToken);
    },
    get inquiries() {
      return requests.filter(isInquiry);
    },
    get statusInquiries() {
      return requests.filter(isStatusInquiry);
    },
    rail(keys, changes) {
      const rail = createRail(baseUrl, keys, changes);
      rails.push(rail);
      return rail;
    },
    async close() {
      for (const rail of rails) await rail.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function answer(response: ServerResponse, status: number, body: string | Buffer | object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

/** Tokens `token-1`, `token-2` … */
export function issueToken(expiresIn = '900'): BankAnswer {
  let count = 0;
  return (_request, response) => {
    count += 1;
    answer(response, 200, {
      responseCode: '2007300',
      responseMessage: 'Successful',
      accessToken: `token-${count}`,
      tokenType: 'Bearer',
      expiresIn,
    });
  };
}

export const HOLDER = 'BUDI SANTOSO';

export const serviceOf = ({ path }: BankRequest): string => (path.endsWith('-internal') ? '15' : '16');

/** A well-formed success for the account of the inquiry. */
export const successOf = (request: BankRequest): Record<string, unknown> => ({
  responseCode: `200${serviceOf(request)}00`,
  responseMessage: 'Successful',
  referenceNo: '2020102977770000000009',
  beneficiaryAccountName: HOLDER,
  beneficiaryAccountNo: request.fields['beneficiaryAccountNo'],
  ...(request.fields['beneficiaryBankCode'] === undefined
    ? {}
    : { beneficiaryBankCode: request.fields['beneficiaryBankCode'] }),
});

export const answerActive: BankAnswer = (request, response) => answer(response, 200, successOf(request));

/** A valid reply, one byte a second. */
export const drip: BankAnswer = (request, response) => {
  const bytes = Buffer.from(JSON.stringify(successOf(request)));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  let sent = 0;
  const timer = setInterval(() => response.write(bytes.subarray(sent, (sent += 1))), 1_000);
  response.once('close', () => clearInterval(timer));
};

/** The reference of the transfer in a status inquiry. */
export const referenceOf = ({ fields }: BankRequest): string => fields['originalPartnerReferenceNo'] ?? '';

/** A well-formed reply to a status inquiry, with this `latestTransactionStatus`. */
export const statusReplyOf = ({ body }: BankRequest, status: string): Record<string, unknown> => {
  const { originalPartnerReferenceNo, serviceCode, transactionDate, amount } = JSON.parse(body);
  return {
    responseCode: '2003600',
    responseMessage: 'Successful',
    originalReferenceNo: '2020102977770000000009',
    originalPartnerReferenceNo,
    serviceCode,
    transactionDate,
    amount,
    referenceNumber: '10052019',
    latestTransactionStatus: status,
  };
};

export const answerStatus =
  (status: string, changes: Record<string, unknown> = {}): BankAnswer =>
  (request, response) =>
    answer(response, 200, { ...statusReplyOf(request, status), ...changes });

const answerSuccess = answerStatus('00');

const notFound: BankAnswer = (_request, response) => answer(response, 404, {});
