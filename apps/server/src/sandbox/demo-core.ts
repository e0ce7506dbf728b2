import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BankDirectory } from '../domain/bank.ts';
import type { Feed, FeedReport } from '../feed/feed.ts';
import type { Log } from '../observability/log.ts';
import type { SimulatedBank } from './bank-process.ts';
import { DEMO_CLIENTS } from './demo-catalogue.ts';
import type { FindHolder } from './holders.ts';

export interface NewDisbursement {
  readonly clientId: string;
  readonly referenceId: string | null;
  readonly amount: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  /** Null: the holder, as the bank has it. */
  readonly accountName: string | null;
  readonly description: string;
}

export interface MadeDisbursement {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly bank: 'accepted' | 'rejected' | 'unknown';
}

/** What is wrong with a disbursement, for whoever asked for it. */
export class DisbursementRefused extends Error {}

/**
 * The demo disbursement core: orders transfers at the simulated bank, hears of them from it, and tells Tiba by the feed,
 * as an operator's own core does. What it does not hear of, Tiba finds out by itself.
 */
export interface DemoCore {
  /** Where the bank sends its notifications. */
  readonly notifyUrl: string;
  /** From now on there is a feed to tell, and a bank to order from. */
  begin(feed: Feed, bank: SimulatedBank, findHolder: FindHolder): void;
  disburse(wanted: NewDisbursement): Promise<MadeDisbursement>;
  /** Pushes the bank's clock forward; its answer, JSON text. */
  pushClock(seconds: number): Promise<string>;
  close(): Promise<void>;
}

/** Of a transfer to an account that the bank names no holder of. */
const NAME_OF_NOBODY = 'SITI RAHAYU';
const SOURCE = DEMO_CLIENTS.core.clientId;
const NOTIFICATION_PATH = '/bank-notifications';
const NOTIFICATION_BYTES_MAX = 16 * 1024;

type Heard = Exclude<ReturnType<SimulatedBank['transfers']['read']>, 'forged' | null>;

interface Work {
  readonly feed: Feed;
  readonly bank: SimulatedBank;
  readonly findHolder: FindHolder;
}

export async function startDemoCore(banks: BankDirectory, log: Log): Promise<DemoCore> {
  let work: Work | undefined;
  /** Of this run: a bank that gives the money back says the same of a transfer that never arrived. */
  const arrived = new Set<string>();

  async function tell(word: Record<string, unknown>): Promise<FeedReport> {
    if (work === undefined) throw new Error('the sandbox is not ready yet');
    const run = work.feed.open(SOURCE);
    await run.readJson(word);
    return run.report;
  }

  async function passOn({ partnerReferenceNo, status, failureReason }: Heard): Promise<void> {
    const [transactionId = '', clientId = ''] = partnerReferenceNo.split('/');
    const about = { client_id: clientId, transaction_id: transactionId };
    if (status === 'SUCCESS') arrived.add(partnerReferenceNo);
    const returned = status === 'REFUNDED' && arrived.has(partnerReferenceNo);
    if (returned) await tell({ ...about, status: 'SUCCESS', reversed_at: new Date().toISOString() });
    else if (status === 'SUCCESS') await tell({ ...about, status });
    else await tell({ ...about, status: 'FAILED', failure_reason: failureReason });
  }

  async function hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = request.url ?? '';
    if (work === undefined || path !== NOTIFICATION_PATH || body.length > NOTIFICATION_BYTES_MAX) {
      response.writeHead(work === undefined ? 503 : 404).end();
      return;
    }
    const notification = work.bank.transfers.read({ path, headers: request.headers, body });
    if (notification === 'forged') {
      response.writeHead(401).end();
      return;
    }
    if (notification !== null) await passOn(notification);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"responseCode":"2007600","responseMessage":"Successful"}');
  }

  const server = createServer((request, response) => {
    hear(request, response).catch((error: unknown) => {
      log.warn({ err: error }, 'a notification of the simulated bank was not taken');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    notifyUrl: `http://127.0.0.1:${port}${NOTIFICATION_PATH}`,
    begin(feed, bank, findHolder) {
      work = { feed, bank, findHolder };
    },
    async disburse(wanted) {
      if (work === undefined) throw new Error('the sandbox is not ready yet');
      const bank = banks.find(wanted.bankCode);
      if (bank === null) throw new DisbursementRefused('bank_code is not in the bank directory');
      const createdAt = new Date().toISOString();
      const transactionId = newTransactionId(createdAt);
      const partnerReferenceNo = `${transactionId}/${wanted.clientId}`;
      const { accountNumber, amount, clientId } = wanted;
      const accountName =
        wanted.accountName ?? (await work.findHolder(wanted.bankCode, accountNumber)) ?? NAME_OF_NOBODY;
      const referenceId = wanted.referenceId ?? `SANDBOX/${transactionId}`;
      const about = { client_id: clientId, transaction_id: transactionId };
      // Known before it is ordered: what the bank then does is about something that exists.
      const report = await tell({
        ...about,
        reference_id: referenceId,
        status: 'PROCESS',
        amount,
        fee: '2500.00',
        bank_code: wanted.bankCode,
        account_number: accountNumber,
        account_name: accountName,
        description: wanted.description,
        created_at: createdAt,
        rail: work.bank.connection.name,
        rail_reference: partnerReferenceNo,
      });
      const [fault] = [...report.rejected, ...report.conflicts];
      if (fault !== undefined) throw new DisbursementRefused(fault.reason);

      const order = { partnerReferenceNo, amount, bank, accountNumber, accountName, createdAt };
      const acceptance = await work.bank.transfers.order(order);
      if (acceptance.kind === 'rejected') {
        log.warn({ code: acceptance.code }, 'the simulated bank refused a transfer');
        await tell({ ...about, status: 'FAILED', failure_reason: 'REJECTED_BY_BANK' });
      }
      return { transactionId, referenceId, bank: acceptance.kind };
    },
    async pushClock(seconds) {
      if (work === undefined) throw new Error('the sandbox is not ready yet');
      const { done, answer } = await work.bank.pushClock(seconds);
      if (!done) throw new DisbursementRefused(answer);
      return answer;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const newTransactionId = (createdAt: string): string =>
  `TB${createdAt.slice(0, 10).replaceAll('-', '')}${String(randomInt(10 ** 12)).padStart(12, '0')}`;
