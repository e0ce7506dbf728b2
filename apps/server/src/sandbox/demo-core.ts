import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BankDirectory } from '../domain/bank.ts';
import type { Feed } from '../feed/feed.ts';
import type { FeedReport } from '../feed/report.ts';
import type { Log } from '../observability/log.ts';
import type { SimulatedBank } from './bank-process.ts';
import { DEMO_CLIENTS, type FindHolder } from './demo-data.ts';

export interface NewDisbursement {
  readonly clientId: string;
  readonly referenceId: string | null;
  /** Decimal, in rupiah. */
  readonly amount: string;
  readonly bankCode: string;
  readonly accountNumber: string;
  /** Null: the account's holder, as the bank has it. */
  readonly accountName: string | null;
  readonly description: string;
}

export interface CreatedDisbursement {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly bank: 'accepted' | 'rejected' | 'unknown';
}

/** The disbursement request is wrong; the message tells the client how. */
export class InvalidDisbursement extends Error {}

/**
 * The demo disbursement core: orders transfers at the simulated bank, receives the bank's notifications, and feeds the
 * status updates to Tiba, as an operator's own core does. Tiba polls the bank when a notification is missing.
 */
export interface DemoCore {
  /** Where the bank sends its notifications. */
  readonly notifyUrl: string;
  /** Connects it to the feed and the bank, which start after it. Before that it answers notifications with 503. */
  connect(feed: Feed, bank: SimulatedBank, findHolder: FindHolder): void;
  /** @throws InvalidDisbursement */
  disburse(disbursement: NewDisbursement): Promise<CreatedDisbursement>;
  /**
   * Advances the bank's clock; returns the bank's answer, JSON text.
   * @throws InvalidDisbursement with the bank's reason when it rejects the request
   */
  advanceClock(seconds: number): Promise<string>;
  close(): Promise<void>;
}

/** The account name of a transfer to an account for which the bank gives no holder. */
const FALLBACK_ACCOUNT_NAME = 'SITI RAHAYU';
const SOURCE = DEMO_CLIENTS.core.clientId;
const NOTIFICATION_PATH = '/bank-notifications';
const NOTIFICATION_BYTES_MAX = 16 * 1024;

type Notification = Exclude<ReturnType<SimulatedBank['transfers']['read']>, 'forged' | null>;

interface Connections {
  readonly feed: Feed;
  readonly bank: SimulatedBank;
  readonly findHolder: FindHolder;
}

interface CoreState {
  readonly banks: BankDirectory;
  readonly log: Log;
  connections: Connections | undefined;
  /**
   * References of the transfers that succeeded during this run. REFUNDED means a reversal for these, and a failure for
   * a transfer that never arrived: the bank sends the same status for both.
   */
  readonly succeeded: Set<string>;
}

export async function startDemoCore(banks: BankDirectory, log: Log): Promise<DemoCore> {
  const state: CoreState = { banks, log, connections: undefined, succeeded: new Set() };
  const server = createServer((request, response) => {
    receiveNotification(state, request, response).catch((error: unknown) => {
      log.warn({ err: error }, 'processing a notification of the simulated bank failed; the bank will retry');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    notifyUrl: `http://127.0.0.1:${port}${NOTIFICATION_PATH}`,
    connect(feed, bank, findHolder) {
      state.connections = { feed, bank, findHolder };
    },
    disburse: (disbursement) => disburse(state, disbursement),
    async advanceClock(seconds) {
      const { done, answer } = await connectionsOf(state).bank.advanceClock(seconds);
      if (!done) throw new InvalidDisbursement(answer);
      return answer;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function connectionsOf({ connections }: CoreState): Connections {
  if (connections === undefined) throw new Error('the sandbox is not ready yet');
  return connections;
}

async function feedUpdate(state: CoreState, update: Record<string, unknown>): Promise<FeedReport> {
  const run = connectionsOf(state).feed.open(SOURCE);
  await run.readJson(update);
  return run.report;
}

async function receiveNotification(
  state: CoreState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await text(request);
  const path = request.url ?? '';
  const { connections } = state;
  if (connections === undefined || path !== NOTIFICATION_PATH || body.length > NOTIFICATION_BYTES_MAX) {
    response.writeHead(connections === undefined ? 503 : 404).end();
    return;
  }
  const notification = connections.bank.transfers.read({ path, headers: request.headers, body });
  if (notification === 'forged') {
    response.writeHead(401).end();
    return;
  }
  if (notification !== null) await forwardToFeed(state, notification);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"responseCode":"2007600","responseMessage":"Successful"}');
}

async function forwardToFeed(
  state: CoreState,
  { partnerReferenceNo, status, failureReason }: Notification,
): Promise<void> {
  const [transactionId = '', clientId = ''] = partnerReferenceNo.split('/');
  const ids = { client_id: clientId, transaction_id: transactionId };
  if (status === 'SUCCESS') state.succeeded.add(partnerReferenceNo);
  const reversed = status === 'REFUNDED' && state.succeeded.has(partnerReferenceNo);
  if (reversed) await feedUpdate(state, { ...ids, status: 'SUCCESS', reversed_at: new Date().toISOString() });
  else if (status === 'SUCCESS') await feedUpdate(state, { ...ids, status });
  else await feedUpdate(state, { ...ids, status: 'FAILED', failure_reason: failureReason });
}

async function disburse(state: CoreState, disbursement: NewDisbursement): Promise<CreatedDisbursement> {
  const { bank: simulatedBank, findHolder } = connectionsOf(state);
  const { clientId, amount, bankCode, accountNumber } = disbursement;
  const bank = state.banks.find(bankCode);
  if (bank === null) throw new InvalidDisbursement('bank_code is not in the bank directory');
  const createdAt = new Date().toISOString();
  const transactionId = createTransactionId(createdAt);
  const partnerReferenceNo = `${transactionId}/${clientId}`;
  const accountName = disbursement.accountName ?? (await findHolder(bankCode, accountNumber)) ?? FALLBACK_ACCOUNT_NAME;
  const referenceId = disbursement.referenceId ?? `SANDBOX/${transactionId}`;
  const ids = { client_id: clientId, transaction_id: transactionId };
  // Fed before it is ordered, so that the bank's notifications refer to a transaction that exists.
  const report = await feedUpdate(state, {
    ...ids,
    reference_id: referenceId,
    status: 'PROCESS',
    amount,
    fee: '2500.00',
    bank_code: bankCode,
    account_number: accountNumber,
    account_name: accountName,
    description: disbursement.description,
    created_at: createdAt,
    rail: simulatedBank.connection.name,
    rail_reference: partnerReferenceNo,
  });
  const [fault] = [...report.rejected, ...report.conflicts];
  if (fault !== undefined) throw new InvalidDisbursement(fault.reason);

  const order = { partnerReferenceNo, amount, bank, accountNumber, accountName, createdAt };
  const acceptance = await simulatedBank.transfers.order(order);
  if (acceptance.kind === 'rejected') {
    state.log.warn({ code: acceptance.code }, 'the simulated bank rejected a transfer');
    await feedUpdate(state, { ...ids, status: 'FAILED', failure_reason: 'REJECTED_BY_BANK' });
  }
  return { transactionId, referenceId, bank: acceptance.kind };
}

const createTransactionId = (createdAt: string): string =>
  `TB${createdAt.slice(0, 10).replaceAll('-', '')}${String(randomInt(10 ** 12)).padStart(12, '0')}`;
