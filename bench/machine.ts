import { cpus } from 'node:os';
import pg from 'pg';
import type { BenchContext } from './bench-context.ts';

/** What the figures depend on, for comparisons with other runs. */
export async function describeMachine({ cores, load, postgres }: BenchContext): Promise<string> {
  const processors = cpus();
  const placement =
    cores === null
      ? 'no process is pinned to a core, so the load takes CPU time from the server: do not trust the figures'
      : `the server on core ${cores.server}; the load, PostgreSQL and the banks on core ${cores.others}`;
  return [
    `${processors.length} cores (${processors[0]?.model.trim() ?? 'unknown'}): ${placement}`,
    `Node ${process.versions.node}, ${await describePostgres(postgres.connectionString)}, ${load.name}`,
  ].join('\n');
}

async function describePostgres(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; buffers: string; huge: string }>(
      `select current_setting('server_version') as version, current_setting('shared_buffers') as buffers,
              current_setting('huge_pages_status') as huge`,
    );
    const [{ version, buffers, huge } = { version: 'unknown', buffers: 'unknown', huge: 'off' }] = rows;
    return `PostgreSQL ${version} with ${buffers} of shared_buffers${huge === 'on' ? ' in huge pages' : ''}`;
  } finally {
    await client.end();
  }
}
