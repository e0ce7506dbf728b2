import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ArchiveRun, archiveTransactions } from '../../apps/server/src/archive/archive-transactions.ts';
import { verifyArchive } from '../../apps/server/src/archive/verify-archive.ts';
import { openSql } from '../callbacks/endpoints-harness.ts';
import { WITHOUT_RETENTION } from '../postgres/retention-harness.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { fail, HELD_LEASE } from './held-lease.ts';

const DAY_MS = 86_400_000;

export const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);

/** The service, and a directory in which a test archives its transactions. */
export interface ArchiveSetup {
  readonly service: TestService;
  readonly sql: Awaited<ReturnType<typeof openSql>>;
  readonly directory: string;
  /** Archives what ended 60 days ago. */
  readonly archive: (changes?: Partial<ArchiveRun>) => ReturnType<typeof archiveTransactions>;
  /** Verifies the whole archive. */
  readonly verify: () => ReturnType<typeof verifyArchive>;
  close(): Promise<void>;
}

export async function openArchive(): Promise<ArchiveSetup> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-archive-'));
  const service = await startTestService({ rails: [], settings: WITHOUT_RETENTION });
  const sql = await openSql(service);
  const { database } = service.app;
  return {
    service,
    sql,
    directory,
    archive: (changes = {}) =>
      archiveTransactions({
        database,
        directory,
        before: daysAgo(60),
        lease: HELD_LEASE,
        signal: new AbortController().signal,
        onClientError: fail,
        ...changes,
      }),
    verify: () => verifyArchive(database, directory, { clientId: null, month: null }, () => {}),
    async close() {
      await sql.end();
      await service.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
