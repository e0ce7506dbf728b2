import assert from 'node:assert/strict';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { register } from '../callbacks/endpoints-harness.ts';
import { eventually } from '../support/eventually.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';

/** The service behind the pages: a payout of yesterday that is lost, three that arrived, a receiver that fails. */

const DAY_MS = 24 * 60 * 60 * 1_000;
const JAKARTA_MS = 7 * 60 * 60 * 1_000;
const YESTERDAY = new Date(Date.now() + JAKARTA_MS - DAY_MS).toISOString().slice(0, 10);
export const LOST = { id: 'TB0000000001', account: '9990001112', masked: '******1112' };

const bank: Rail = {
  name: 'bank-one',
  reaches: () => true,
  inquireAccount: () => Promise.resolve({ kind: 'no_verdict', reason: 'timeout', railCode: null }),
  inquireStatus: () => Promise.resolve({ kind: 'status', status: 'PROCESS', railCode: '2003600', reversed: false }),
  close: () => Promise.resolve(),
};

const UPDATES = [
  // The one that is lost: the account and the amount are all that the customer has.
  statusUpdate({
    transaction_id: LOST.id,
    account_number: LOST.account,
    created_at: `${YESTERDAY}T03:02:00.000Z`,
    rail: 'bank-one',
    rail_reference: 'P-1',
  }),
  ...Array.from({ length: 3 }, (_, index) =>
    statusUpdate({
      transaction_id: `TB000000010${index}`,
      // One order has the digits of the other customer's account.
      reference_id: index === 2 ? LOST.account : `REF-${index}`,
      account_number: '5554443332',
      created_at: `${YESTERDAY}T0${index + 4}:00:00.000Z`,
      status: 'SUCCESS',
      processed_at: `${YESTERDAY}T0${index + 4}:00:05.000Z`,
    }),
  ),
];

export async function startConsoleService(): Promise<{
  readonly service: TestService;
  readonly receiver: HttpReceiver;
}> {
  const receiver = await startHttpReceiver({ respond: (response) => void response.writeHead(500).end() });
  const consoleLogUrl = 'https://logs.example.com/?q={transaction_id}&client={client_id}';
  const service = await startTestService({ rails: [bank], settings: { fourEyes: ['limits'], consoleLogUrl } });
  const { token } = await service.addClient('monitor', ['operator:read']);
  await register(service, { url: `${receiver.url}/callbacks` });
  const { status, text } = await service.feed(UPDATES);
  assert.equal(status, 200, text);
  const headers = { authorization: `Bearer ${token}` };
  const readOverdue = (): Promise<Answer> => send(`${service.operatorUrl}/operator/v1/overdue`, { headers });
  await eventually('the lost transaction is overdue', async () => (await readOverdue()).text.includes(LOST.id));
  // As after half an hour: the schedule has had the bank asked three times, and is due again.
  await eventually('the bank was asked four times', async () => {
    const [row] = await service.app.database.query<{ attempts: number }>(
      `with due as (
         update tiba.status_inquiries set attempts = 3, next_at = now()
          where client_id = 'alpha' and transaction_id = $1 and attempts < 3
       )
       select attempts from tiba.status_inquiries where client_id = 'alpha' and transaction_id = $1`,
      [LOST.id],
    );
    return row?.attempts === 4;
  });
  return { service, receiver };
}
