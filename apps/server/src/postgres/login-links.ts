import type { Database } from './database.ts';

/** Links with which people log in to the sandbox: each once, within minutes. */

export interface LinkedPerson {
  readonly subject: string;
  readonly name: string;
  readonly role: string;
}

/** Stores a link. Links that were never used are deleted when they have expired and another one is made. */
export async function insertLoginLink(
  database: Database,
  link: LinkedPerson & { readonly codeHash: Buffer; readonly lifetimeSeconds: number },
): Promise<void> {
  await database.query(
    `with expired as (delete from tiba.operator_login_links where expires_at < now())
     insert into tiba.operator_login_links (code_hash, subject, name, role, expires_at)
     values ($1, $2, $3, $4, now() + make_interval(secs => $5))`,
    [link.codeHash, link.subject, link.name, link.role, link.lifetimeSeconds],
  );
}

/** The person of a link, which then is used up. Null for a link that was used, has expired or never was. */
export async function takeLoginLink(database: Database, codeHash: Buffer): Promise<LinkedPerson | null> {
  const [row] = await database.query<{ subject: string; name: string; role: string; is_live: boolean }>(
    `delete from tiba.operator_login_links where code_hash = $1
     returning subject, name, role, expires_at > now() as is_live`,
    [codeHash],
  );
  return row?.is_live === true ? { subject: row.subject, name: row.name, role: row.role } : null;
}

/** Whether this database belongs to a sandbox: links are for nothing else. */
export async function isSandboxDatabase(database: Database): Promise<boolean> {
  const rows = await database.query("select from tiba.installation where environment = 'sandbox'");
  return rows.length > 0;
}
