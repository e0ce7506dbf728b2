import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'iovalkey';
import { eventually } from './eventually.ts';
import { commandIsMissing } from './required-command.ts';

/** Why tests with Valkey are skipped; false where they run. Debian's `redis-server` (Redis 7) speaks the same protocol. */
export const VALKEY_MISSING = commandIsMissing('redis-server');

/** A real server without persistence, on a port of its own. */
export interface TestValkey {
  readonly url: string;
  readonly port: number;
  /** Sends a command as an operator would. */
  command(name: string, ...args: readonly string[]): Promise<unknown>;
  freeze(): void;
  thaw(): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** On the same port, after `kill`: empty. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** `givenPort`: by default any free one. */
export async function startTestValkey(options: readonly string[] = [], givenPort?: number): Promise<TestValkey> {
  const port = givenPort ?? (await freePort());
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-valkey-'));
  const all = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory, ...options];
  let server = await start(port, all);
  const admin = connect(port);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    command: (name, ...args) => admin.call(name, ...args),
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    kill: () => end('SIGKILL'),
    async restart() {
      server = await start(port, all);
    },
    async stop() {
      admin.disconnect();
      await end('SIGKILL');
      await rm(directory, { recursive: true });
    },
  };
}

async function start(port: number, options: readonly string[]): Promise<ChildProcess> {
  const server = spawn('redis-server', options, { stdio: 'ignore' });
  await once(server, 'spawn');
  const client = connect(port);
  try {
    await eventually('redis-server answers', () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    );
    return server;
  } catch (error) {
    server.kill('SIGKILL');
    throw error;
  } finally {
    client.disconnect();
  }
}

function connect(port: number): Redis {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  return client;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
