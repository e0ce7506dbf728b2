import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { findLastingPort } from '../random/ports.ts';

/** Two PostgreSQL servers under Patroni, with etcd: from Debian's packages patroni, etcd-server and postgresql-15. */
export interface PatroniCluster {
  /** A `DATABASE_URL` with both servers. */
  url(database: string): string;
  /** Resolves with the server that accepts writes, when there is one. */
  leader(): Promise<PatroniNode>;
  /** Resolves when another server replicates from the leader, and commits wait for it. */
  untilSynchronous(): Promise<void>;
  query(sql: string): Promise<void>;
  remove(): Promise<void>;
}

export interface PatroniNode {
  readonly name: string;
  readonly port: number;
  connection(database: string): pg.ClientConfig;
  /** SIGKILL to the agent, the postmaster and all its processes: as if the machine were gone. */
  kill(): Promise<void>;
  start(): void;
}

const BINARIES = '/usr/lib/postgresql/15/bin';
/** The user ID without any rights, on every Linux: PostgreSQL does not run as root. */
const UNPRIVILEGED = 65_534;
const READY_MS_MAX = 60_000;
const POLL_MS = 20;
/** The least that Patroni allows: it fails over when the leader has said nothing for this long, in seconds. */
const TTL = 20;

/** The reason why the cluster cannot be started on this machine; null when it can. */
export const patroniMissing = (): string | null =>
  existsSync(`${BINARIES}/postgres`) && existsSync('/usr/bin/patroni') && existsSync('/usr/bin/etcd')
    ? null
    : 'install patroni, etcd-server and postgresql-15 (Debian), and stop the services that start with them';

export async function startPatroniCluster(): Promise<PatroniCluster> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-patroni-'));
  await own(directory);
  const [etcdPort, peerPort] = [await findLastingPort(), await findLastingPort()];
  const etcd = run('etcd', etcdArguments(directory, etcdPort, peerPort));
  const nodes = [await createNode(directory, 'node1', etcdPort), await createNode(directory, 'node2', etcdPort)];
  const cluster: PatroniCluster = {
    url: (database) =>
      `postgresql://tiba@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${database}` +
      '?sslmode=disable&target_session_attrs=read-write',
    leader: () => untilFound('there is a leader', () => findLeader(nodes)),
    async untilSynchronous() {
      await untilFound('a synchronous standby', async () => {
        const leader = await findLeader(nodes);
        if (leader === null) return null;
        const sql = "select 1 from pg_stat_replication where sync_state = 'sync'";
        return (await withClient(leader.connection('postgres'), (client) => client.query(sql))).rowCount || null;
      });
    },
    async query(sql) {
      const leader = await cluster.leader();
      await withClient(leader.connection('postgres'), (client) => client.query(sql));
    },
    async remove() {
      for (const node of nodes) await node.kill();
      etcd.kill('SIGKILL');
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  try {
    // The first one initializes the cluster, and the other one copies it.
    nodes[0]?.start();
    await cluster.leader();
    nodes[1]?.start();
    await cluster.untilSynchronous();
    await cluster.query('create role tiba login');
  } catch (error) {
    await cluster.remove();
    throw error;
  }
  return cluster;
}

function etcdArguments(directory: string, port: number, peerPort: number): string[] {
  const flags = {
    name: 'one',
    'data-dir': path.join(directory, 'etcd'),
    'log-level': 'error',
    'listen-client-urls': urlOf(port),
    'advertise-client-urls': urlOf(port),
    'listen-peer-urls': urlOf(peerPort),
    'initial-advertise-peer-urls': urlOf(peerPort),
    'initial-cluster': `one=${urlOf(peerPort)}`,
  };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

async function createNode(directory: string, name: string, etcdPort: number): Promise<PatroniNode> {
  const [port, restPort] = [await findLastingPort(), await findLastingPort()];
  const home = path.join(directory, name);
  const dataDirectory = path.join(home, 'data');
  const file = path.join(home, 'patroni.json');
  await mkdir(home);
  await own(home);
  await writeFile(file, JSON.stringify(settingsOf({ name, home, dataDirectory, port, restPort, etcdPort })));
  let agent: ChildProcess | null = null;
  return {
    name,
    port,
    connection: (database) => ({ host: '127.0.0.1', port, user: 'postgres', password: 'postgres', database }),
    start() {
      agent = run('patroni', [file], home);
    },
    async kill() {
      const killed = agent;
      agent = null;
      if (killed === null) return;
      const exited = killed.exitCode === null && killed.signalCode === null ? once(killed, 'exit') : Promise.resolve();
      killed.kill('SIGKILL');
      killPostgres(dataDirectory);
      await exited;
    },
  };
}

interface NodeOptions {
  readonly name: string;
  readonly home: string;
  readonly dataDirectory: string;
  readonly port: number;
  readonly restPort: number;
  readonly etcdPort: number;
}

/** Patroni's own form, with commits that wait for the standby. JSON is YAML. */
const settingsOf = ({ name, home, dataDirectory, port, restPort, etcdPort }: NodeOptions) => ({
  scope: 'tiba',
  name,
  log: { level: 'ERROR' },
  restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
  etcd3: { hosts: `127.0.0.1:${etcdPort}` },
  bootstrap: {
    dcs: {
      ttl: TTL,
      loop_wait: 2,
      retry_timeout: 4,
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, parameters: { max_connections: 150, wal_log_hints: 'on' } },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: dataDirectory,
    bin_dir: BINARIES,
    pgpass: path.join(home, 'pgpass'),
    pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    authentication: {
      superuser: { username: 'postgres', password: 'postgres' },
      replication: { username: 'replicator', password: 'replicator' },
    },
    parameters: { unix_socket_directories: home, shared_buffers: '128MB' },
  },
});

function run(program: string, args: readonly string[], cwd?: string): ChildProcess {
  const asOther = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const child = spawn(program, args, {
    stdio: 'ignore',
    env: { PATH: `${BINARIES}:/usr/bin:/bin`, HOME: cwd ?? '/', LANG: 'C' },
    ...(cwd === undefined ? {} : { cwd }),
    ...asOther,
  });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function own(directory: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(directory, UNPRIVILEGED, UNPRIVILEGED);
}

/** The postmaster first: it would start others again. */
function killPostgres(dataDirectory: string): void {
  const file = path.join(dataDirectory, 'postmaster.pid');
  if (!existsSync(file)) return;
  const postmaster = Number(readFileSync(file, 'utf8').split('\n', 1)[0]);
  const children = `/proc/${postmaster}/task/${postmaster}/children`;
  const pids = existsSync(children) ? readFileSync(children, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
  for (const pid of [postmaster, ...pids]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

async function findLeader(nodes: readonly PatroniNode[]): Promise<PatroniNode | null> {
  const isLeader = (node: PatroniNode): Promise<boolean> =>
    withClient(node.connection('postgres'), async (client) => {
      const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
      return rows[0]?.standby === false;
    }).catch(() => false);
  for (const node of nodes) if (await isLeader(node)) return node;
  return null;
}

async function untilFound<T>(what: string, find: () => Promise<T | null>): Promise<T> {
  const deadlineMs = performance.now() + READY_MS_MAX;
  for (;;) {
    const found = await find().catch(() => null);
    if (found !== null) return found;
    if (performance.now() > deadlineMs) throw new Error(`not true within ${READY_MS_MAX} ms: ${what}`);
    await delay(POLL_MS);
  }
}

async function withClient<T>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 1_000, query_timeout: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    client.end().catch(() => {});
  }
}
