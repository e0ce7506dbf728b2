// The bank as its own process, for tests: started, watched, and never left behind.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { RsaKeys } from '../support/rsa-keys.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { partnerSettings } from './partner.ts';

export const BANK_MAIN = fileURLToPath(new URL('../../apps/bank/src/main.ts', import.meta.url));

/** Everything that the bank needs and no setting of this process's own environment. */
export function bankEnvironment(keys: RsaKeys): NodeJS.ProcessEnv {
  const settings = partnerSettings(keys);
  return {
    BANK_CLIENT_KEY: settings.clientKey,
    BANK_CLIENT_SECRET: settings.clientSecret,
    BANK_CLIENT_PUBLIC_KEY: keys.publicKey.export({ type: 'spki', format: 'pem' }),
    BANK_PARTNER_ID: settings.partnerId,
    ...INHERITED,
  };
}

export interface ForkedBank {
  readonly child: ChildProcess;
  readonly baseUrl: string;
}

/** Forks the bank with an IPC channel and waits until it is ready. */
export async function forkBank(keys: RsaKeys, changes: NodeJS.ProcessEnv = {}): Promise<ForkedBank> {
  const child = fork(BANK_MAIN, { env: { ...bankEnvironment(keys), ...changes }, execArgv: [], silent: true });
  const [message] = await once(child, 'message', { signal: AbortSignal.timeout(20_000) }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return { child, baseUrl: message.baseUrl };
}

/** Waits until nothing listens on the port any more. */
export async function waitUntilClosed(baseUrl: string, deadlineMs = 10_000): Promise<void> {
  const port = Number(new URL(baseUrl).port);
  const deadline = Date.now() + deadlineMs;
  while (await isListening(port)) {
    if (Date.now() > deadline) throw new Error(`Something still listens on port ${port}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
