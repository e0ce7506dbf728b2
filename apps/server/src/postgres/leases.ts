import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';

export interface Lease {
  /** Takes or renews the lease. False while another process holds it. */
  hold(): Promise<boolean>;
  /** Ends it at once, for the next process. */
  release(): Promise<void>;
}

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
         returning name`,
        [name, holder, leaseMs],
        'hold-lease',
      );
      return rows.length > 0;
    },
    async release() {
      await database.query('update tiba.leases set ends_at = now() where name = $1 and holder = $2', [name, holder]);
    },
  };
}
