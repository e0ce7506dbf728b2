// `npm run serve` as a child process, with any standard output.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort, writeProductionSettings } from '../sandbox/production-settings.ts';
import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';
import { send } from './requests.ts';
import { INHERITED } from './suite-environment.ts';

const MAIN = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));

const READY_TIMEOUT_MS = 60_000;

export interface ServeOptions {
  readonly database: Pick<TestDatabase, 'connection'>;
  readonly stdout: 'pipe' | number;
  readonly nodeOptions?: readonly string[];
  /** A command that runs the program which follows it. */
  readonly prefix?: readonly string[];
  /** Files, connections included, that the process may have open. */
  readonly openFilesMax?: number;
  /** Further settings. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The client secret at the bank. */
  readonly bankSecret?: string;
  /** Of another release. */
  readonly main?: string;
  /** By default free ones. */
  readonly ports?: { readonly port: number; readonly operatorPort: number };
}

/** The service in production mode, with a connection to a bank that is never inquired. */
export interface ServeProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly operatorUrl: string;
  /** The value of a metric without labels. */
  metric(name: string): Promise<number>;
  /** KiB */
  residentMemory(): Promise<number>;
  /** Sends SIGTERM. Resolves with the exit code, or the signal that ended the process, and the time it took. */
  terminate(): Promise<{ code: number | string | null; tookMs: number }>;
  /** Ends what is left: call it when the process is no longer needed, whether it has ended or not. */
  release(): Promise<void>;
}

/** Resolves when the service is ready. */
export async function startServe(options: ServeOptions): Promise<ServeProcess> {
  const { database, stdout, nodeOptions = [], prefix = [], openFilesMax, environment = {}, main = MAIN } = options;
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-serve-'));
  const { port, operatorPort } = options.ports ?? {
    port: await findFreePort(),
    operatorPort: await findFreePort(),
  };
  // The bank is never inquired.
  const settings = await writeProductionSettings(directory, operatorPort, options.bankSecret);
  // The shell replaces itself, so the child is the service.
  const limited = openFilesMax === undefined ? [] : ['sh', '-c', `ulimit -n ${openFilesMax} && exec "$@"`, 'sh'];
  const [program, ...rest] = [...prefix, ...limited, process.execPath, ...nodeOptions, main, 'serve'];
  const child = spawn(program, rest, {
    stdio: ['ignore', stdout, 'inherit'],
    env: {
      ...INHERITED,
      ...settings,
      // The setting is a URL, which needs a host. The server's socket, in the query, comes before it.
      DATABASE_URL: database.connection.connectionString?.replace('@/', '@localhost/'),
      TIBA_PORT: String(port),
      TIBA_OPERATOR_PORT: String(operatorPort),
      ...environment,
    },
  });
  const exited = once(child, 'exit');
  const scheme = environment['TIBA_TLS_CERTIFICATE_FILE'] === undefined ? 'http' : 'https';
  const operatorUrl = `${scheme}://127.0.0.1:${operatorPort}`;

  async function release(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
    await rm(directory, { recursive: true, force: true });
  }

  try {
    const isUp = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`the service ended with code ${child.exitCode}`);
      return isReady(operatorUrl);
    };
    await eventually('the service is ready', isUp, READY_TIMEOUT_MS);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    child,
    url: `${scheme}://127.0.0.1:${port}`,
    operatorUrl,
    metric: async (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metricsOf(operatorUrl))?.[1]),
    residentMemory: async () =>
      Number(/^VmRSS:\s*(\d+)/m.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    async terminate() {
      const startedMs = performance.now();
      child.kill('SIGTERM');
      const [code, signal] = await exited;
      return { code: code ?? signal, tookMs: performance.now() - startedMs };
    },
    release,
  };
}

const isReady = (operatorUrl: string): Promise<boolean> =>
  // A connection that stays open would be waited for when the process ends.
  send(`${operatorUrl}/readyz`, { headers: { connection: 'close' } }).then(
    ({ status }) => status === 200,
    () => false,
  );

const metricsOf = async (operatorUrl: string): Promise<string> => (await send(`${operatorUrl}/metrics`, {})).text;

/** Logs in. Resolves with the access token. */
export async function logIn(url: string, clientId: string, secret: string): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: secret,
  });
  const { status, text } = await send(`${url}/oauth/token`, { method: 'POST', body: form });
  if (status !== 200) throw new Error(`the login of ${clientId} failed: ${text}`);
  return (JSON.parse(text) as { access_token: string }).access_token;
}
