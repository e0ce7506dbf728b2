// A SNAP bank that costs as little as possible, so that the service is measured and not the bank. It answers each
// inquiry at once, or after a fixed time. It checks neither tokens nor signatures, and writes HTTP itself. The head of
// its responses is that of a `node:http` server, line for line: the service has as much to parse as with any other
// bank.

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { addressOf, runAsChild } from '../as-child.ts';

export interface InstantBankSettings {
  /** How long after an inquiry it answers. 0: at once, in the order of the inquiries. */
  readonly delayMs: number;
}

export interface InstantBankAddress {
  readonly baseUrl: string;
}

type Fields = Readonly<Record<string, string>>;

/** By path, the function that maps the fields of a request to those of the response. */
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

const HEAD_END = '\r\n\r\n';

/** Parses the requests of one connection, and answers each. */
function answerRequests(socket: Socket, delayMs: number): void {
  let received = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    received += chunk;
    for (;;) {
      const headEnd = received.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const bodyStart = headEnd + HEAD_END.length;
      const [head, body] = [received.slice(0, headEnd), received.slice(bodyStart)];
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (body.length < length) return;
      received = body.slice(length);
      const response = responseTo(head.split(' ', 2)[1] ?? '', body.slice(0, length));
      if (delayMs === 0) socket.write(response, 'latin1');
      else setTimeout(() => socket.write(response, 'latin1'), delayMs);
    }
  });
}

function responseTo(path: string, body: string): string {
  const service = SERVICES[path];
  const responseBody = service === undefined ? '' : JSON.stringify(service(JSON.parse(body) as Fields));
  return [
    service === undefined ? 'HTTP/1.1 404 Not Found' : 'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${responseBody.length}`,
    `Date: ${now}`,
    'Connection: keep-alive',
    'Keep-Alive: timeout=75',
    '',
    responseBody,
  ].join('\r\n');
}

let now = new Date().toUTCString();

await runAsChild<InstantBankAddress>(async (sent) => {
  const { delayMs } = sent as InstantBankSettings;
  const connections = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    answerRequests(socket, delayMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = setInterval(() => (now = new Date().toUTCString()), 1_000);
  return {
    address: { baseUrl: addressOf(server) },
    async close() {
      clearInterval(clock);
      server.close();
      for (const socket of connections) socket.destroy();
    },
  };
});
