// The bank as its own process, for tests. No process outlives its test.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { type RsaKeys, rsaKeys } from '../support/rsa-keys.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { createPartner, type Partner, partnerSettings } from './partner.ts';

export const BANK_MAIN = fileURLToPath(new URL('../../apps/bank/src/main.ts', import.meta.url));

/** All mandatory settings of the bank, and no setting from the environment of this process. */
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

/** Waits until no process listens on the port. */
export async function waitUntilClosed(baseUrl: string, deadlineMs = 10_000): Promise<void> {
  const port = Number(new URL(baseUrl).port);
  await eventually(`no process listens on port ${port}`, async () => !(await isListening(port)), deadlineMs);
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

/** Processes of the bank that a test kills and restarts, and the folder of their journals. `killAll` removes both. */
export function createBankProcesses() {
  const keys = rsaKeys();
  const folder = mkdtempSync(path.join(tmpdir(), 'tiba-bank-'));
  const pids: number[] = [];

  function track(pid: number | undefined): void {
    if (pid !== undefined) pids.push(pid);
  }

  /** A partner that holds an access token. */
  async function connectPartner(baseUrl: string): Promise<Partner> {
    const partner = createPartner(baseUrl, partnerSettings(keys), keys);
    await partner.authorize();
    return partner;
  }

  return {
    keys,
    connectPartner,
    track,
    pathOf: (file: string) => path.join(folder, file),
    async start(changes: NodeJS.ProcessEnv): Promise<ForkedBank & { partner: Partner }> {
      const bank = await forkBank(keys, changes);
      track(bank.child.pid);
      return { ...bank, partner: await connectPartner(bank.baseUrl) };
    },
    async kill({ child }: ForkedBank): Promise<void> {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    killAll(): void {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has already exited, as it should.
        }
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
