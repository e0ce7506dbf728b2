import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { answerActive, type BankRequest, issueToken } from '../../test/rails/scripted-bank.ts';
import type { Certificate } from '../random/environment.ts';

/** A bank that knows every account, and when each inquiry arrived. */
export interface RecordingBank {
  readonly url: string;
  /** When inquiries arrived, in milliseconds on this process's monotonic clock. */
  arrivalsMs: number[];
  close(): Promise<void>;
}

export async function startRecordingBank({ cert, key }: Certificate): Promise<RecordingBank> {
  const arrivalsMs: number[] = [];
  const tokens = issueToken();

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const isInquiry = path.includes('/account-inquiry-');
    if (isInquiry) bank.arrivalsMs.push(performance.now());
    const body = await text(incoming);
    const request: BankRequest = { method, path, headers, body, fields: JSON.parse(body || '{}') };
    await (isInquiry ? answerActive : tokens)(request, response);
  }

  const server = createServer({ cert, key }, (incoming, response) => void handle(incoming, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bank: RecordingBank = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivalsMs,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return bank;
}
