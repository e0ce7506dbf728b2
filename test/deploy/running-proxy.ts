import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '../support/eventually.ts';

/** A reverse proxy in front of processes of the service. */
export interface RunningProxy {
  /** For clients. */
  readonly url: string;
  /** For the disbursement core: the operator listeners. */
  readonly coreUrl: string;
  /** Where nginx writes its logs. */
  readonly directory: string;
  stop(): Promise<void>;
}

export interface ProxyOptions {
  readonly name: 'haproxy' | 'nginx';
  readonly configuration: string;
  readonly arguments: (file: string, directory: string) => string[];
  /** Where the configuration makes it listen for clients, and for the core. */
  readonly port: number;
  readonly corePort: number;
}

/** Resolves when it answers. */
export async function startProxy({ name, configuration, port, corePort, ...options }: ProxyOptions) {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-proxy-'));
  const file = path.join(directory, `${name}.conf`);
  await writeFile(file, configuration);
  const child = spawn(name, options.arguments(file, directory), { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (complaints = (complaints + chunk).slice(-4_000)));
  const exited = once(child, 'exit');
  const proxy: RunningProxy = {
    url: `http://127.0.0.1:${port}`,
    coreUrl: `http://127.0.0.1:${corePort}`,
    directory,
    async stop() {
      // nginx ends its workers with SIGTERM only.
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
  const answers = (url: string): Promise<boolean> =>
    fetch(`${url}/livez`).then(
      async (response) => {
        await response.body?.cancel();
        return true;
      },
      () => false,
    );
  try {
    await eventually(`${name} answers`, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${complaints}`);
      return (await answers(proxy.url)) && (await answers(proxy.coreUrl));
    });
  } catch (error) {
    await proxy.stop();
    throw error;
  }
  return proxy;
}
