import { randomUUID } from 'node:crypto';
import type { Database, Query } from './database.ts';

export interface Lease {
  /** Takes or renews the lease. False while another process holds it. */
  hold(): Promise<boolean>;
  /**
   * Whether it is still held, in a database transaction: until that one ends, no other process can take the lease. So
   * what is written there counts only while it is held, however long this process hung before.
   */
  isHeld(query: Query): Promise<boolean>;
  /** Ends it at once, for the next process. */
  release(): Promise<void>;
}

/** What work under a lease needs of it. */
export type HeldLease = Pick<Lease, 'hold' | 'isHeld'>;

/** A lease on PostgreSQL's clock: of all processes one holds it, and when that one dies, it ends by itself. */
export function createLease(database: Database, name: string, leaseMs: number): Lease {
  const holder = randomUUID();
  return {
    async hold() {
      const rows = await database.query(
        `insert into tiba.leases as held (name, holder, ends_at)
         values ($1, $2, now() + $3 * interval '1 millisecond')
         on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at
          where held.holder = excluded.holder or held.ends_at <= now()
             -- This clock was ahead when a process took it, which may be gone.
             or held.ends_at > excluded.ends_at + interval '1 hour'
         returning name`,
        [name, holder, leaseMs],
        'hold-lease',
      );
      return rows.length > 0;
    },
    async isHeld(query) {
      const { rowCount } = await query(
        'select from tiba.leases where name = $1 and holder = $2 and ends_at > clock_timestamp() for share',
        [name, holder],
      );
      return rowCount === 1;
    },
    async release() {
      await database.query('update tiba.leases set ends_at = now() where name = $1 and holder = $2', [name, holder]);
    },
  };
}
