import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { claimPendingNotice } from '../../apps/server/src/postgres/bank-availability.ts';
import type { Query } from '../../apps/server/src/postgres/database.ts';
import { noteEndpointChange } from '../../apps/server/src/postgres/events.ts';
import { recordRestore } from '../../apps/server/src/postgres/restores.ts';
import { type DeliverySetup, setUpDeliveries } from '../callbacks/delivery-setup.ts';
import { eventually } from '../support/eventually.ts';

let setup: DeliverySetup & { close(): Promise<void> };
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

async function untilRestoreWaits(): Promise<void> {
  await eventually('the restore to wait for a lock', async () => {
    const waiting = await setup.database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return waiting.length > 0;
  });
}

/** What another transaction locks before the numbers of events, and what must be there for it. */
const LOCKS: Readonly<Record<string, { readonly prepare: string; readonly lock: (query: Query) => Promise<unknown> }>> =
  {
    'a client, as the registration of an endpoint does': {
      prepare: 'select',
      lock: (query) => query("select from tiba.clients where client_id = 'alpha' for no key update"),
    },
    'the status of a bank, of which clients are notified': {
      prepare: `insert into tiba.bank_availability (bic, status, since, version, notified_up_to_client_id)
                values ('CENAIDJA', 'DOWN', now(), 1, '')`,
      lock: (query) => claimPendingNotice(query, 'CENAIDJA'),
    },
    'a proposal, which is being approved': {
      prepare: `insert into tiba.operator_proposals
                  (proposal_id, kinds, action, payload, payload_hash, reason, proposer, proposer_name,
                   proposer_session, proposer_role, origin, expires_at)
                values ('pr_1', '{keys}', 'endpoint change', '{}', '', 'a test', 'person', 'Person', 'session',
                        'approver', '127.0.0.1', now() + interval '1 hour')`,
      lock: (query) => query("select from tiba.operator_proposals where proposal_id = 'pr_1' for update"),
    },
  };

/** Regression: the restore locked the numbers of events first, and each of the two waited for the other. */
suite('a restore is recorded while another transaction has locked', () => {
  for (const [name, { prepare, lock }] of Object.entries(LOCKS)) {
    test(name, async () => {
      await setup.database.query(prepare);
      let recording: Promise<unknown> = Promise.resolve();
      await setup.database.transaction(async (query) => {
        await lock(query);
        recording = recordRestore(setup.database);
        recording.catch(() => {});
        await untilRestoreWaits();
        await noteEndpointChange(query, 'alpha');
      });
      await assert.doesNotReject(recording);
    });
  }
});
