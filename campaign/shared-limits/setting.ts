import { readFile, writeFile } from 'node:fs/promises';
import pino from 'pino';
import type { Scope } from '../../apps/server/src/auth/scopes.ts';
import { hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { eventually } from '../../test/support/eventually.ts';
import { send } from '../../test/support/requests.ts';
import { logIn, type ServeProcess, startServe } from '../../test/support/serve.ts';
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy.ts';
import { startTestValkey, type TestValkey } from '../../test/support/valkey.ts';
import { openEnvironment, writeRailsFile } from '../random/environment.ts';
import { type RecordingBank, startRecordingBank } from './bank.ts';

/** Of the bank, over all processes. */
export const QUOTA_PER_SECOND = 50;
const SECRET = 'the secret of the campaign';
const SCOPES: readonly Scope[] = ['status:read', 'account:check'];

type Limits = Partial<Record<'check-status' | 'check-account' | 'accounts-per-day', number>>;

/** A PostgreSQL, a Valkey behind a proxy, and a bank with a quota. */
export interface SharedSetting {
  readonly valkey: TestValkey;
  readonly proxy: TcpProxy;
  readonly bank: RecordingBank;
  /**
   * Starts real processes in production mode, by default on Valkey itself: this process, which has the proxy, is busy
   * with the load. They are ended with the setting, or by `release`.
   */
  start(count: number, isProxied?: boolean): Promise<Processes>;
}

export interface Processes {
  readonly all: readonly ServeProcess[];
  /** A new client; resolves with its token, which is valid at each process. */
  newClient(limits: Limits): Promise<string>;
  /** Whether each process counts with the others. */
  areExact(): Promise<boolean>;
  /** How many decisions processes have made by themselves. */
  decidedAlone(): Promise<number>;
  release(): Promise<void>;
}

export async function openSharedSetting(closers: AsyncDisposableStack): Promise<SharedSetting> {
  const environment = await openEnvironment();
  closers.defer(() => environment.close());
  const valkey = await startTestValkey();
  closers.defer(async () => {
    valkey.thaw();
    await valkey.stop();
  });
  const proxy = await startTcpProxy(valkey.port);
  closers.defer(() => proxy.close());
  const bank = await startRecordingBank(environment.certificate);
  closers.defer(() => bank.close());
  const railsFile = await writeRailsFile(environment, bank.url);
  const { rails } = JSON.parse(await readFile(railsFile, 'utf8')) as { rails: readonly object[] };
  await writeFile(
    railsFile,
    JSON.stringify({ rails: rails.map((rail) => Object.assign(rail, { quota_per_second: QUOTA_PER_SECOND })) }),
  );
  const { database } = environment.postgres;
  return {
    valkey,
    proxy,
    bank,
    async start(count, isProxied = false) {
      const started = Array.from({ length: count }, () =>
        startServe({
          database,
          stdout: 'pipe',
          environment: {
            NODE_EXTRA_CA_CERTS: environment.authorityFile,
            TIBA_RAILS_FILE: railsFile,
            TIBA_VALKEY_URL: isProxied ? `redis://127.0.0.1:${proxy.port}` : valkey.url,
            TIBA_EVENT_LOOP_DELAY_MS: '0',
          },
        }),
      );
      const all = (await Promise.allSettled(started)).flatMap((each) =>
        each.status === 'fulfilled' ? [each.value] : [],
      );
      const release = async (): Promise<void> => void (await Promise.all(all.map((each) => each.release())));
      closers.defer(release);
      if (all.length < count) throw new Error(`${count - all.length} of ${count} processes have not started`);
      for (const { child } of all) child.stdout?.resume();
      const processes = createProcesses(all, database.connection, release);
      await eventually('all count together', processes.areExact);
      await eventually('all know of each other', async () =>
        (await Promise.all(all.map((each) => each.metric('tiba_live_processes')))).every((live) => live === count),
      );
      return processes;
    },
  };
}

let clients = 0;

function createProcesses(
  all: readonly ServeProcess[],
  connection: Parameters<typeof openDatabase>[0]['connection'],
  release: () => Promise<void>,
): Processes {
  return {
    all,
    release,
    async newClient(limits) {
      const clientId = `client-${(clients += 1)}`;
      const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
      try {
        await insertClient(database, {
          clientId,
          name: clientId,
          secretHash: hashSecret(SECRET),
          scopes: SCOPES,
          limits,
        });
      } finally {
        await database.close();
      }
      let token = '';
      for (const { url } of all)
        await eventually(`${clientId} is known`, async () => {
          token = await logIn(url, clientId, SECRET).catch(() => '');
          return token !== '';
        });
      return token;
    },
    async areExact() {
      const ready = await Promise.all(all.map(({ operatorUrl }) => send(`${operatorUrl}/readyz`, {})));
      return ready.every(({ text }) => text.includes('"shared_limits":"ok"'));
    },
    async decidedAlone() {
      const pages = await Promise.all(all.map(({ operatorUrl }) => send(`${operatorUrl}/metrics`, {})));
      const lines = pages.map(({ text }) => text).join('\n');
      const counts = Array.from(lines.matchAll(/^tiba_limit_decisions_alone_total\{.*\} (\d+)$/gm), ([, count]) =>
        Number(count),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}
