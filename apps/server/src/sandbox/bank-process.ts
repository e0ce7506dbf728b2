import { fork } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Log } from '../observability/log.ts';
import type { SnapSettings } from '../rails/snap/settings.ts';
import { StartError } from '../start-error.ts';
import type { SandboxSecrets } from './secrets.ts';

const BANK = fileURLToPath(new URL('../../../bank/src/main.ts', import.meta.url));
const READY_TIMEOUT_MS = 30_000;

export interface SimulatedBank {
  /** How to reach it: the bank is BCA, and passes on inquiries about every other bank. */
  readonly connection: SnapSettings;
  stop(): Promise<void>;
}

export interface BankTransfers {
  /** Where it remembers transfers, so that they go on after a restart. */
  readonly journalFile?: string;
  /** Whom it tells about them. */
  readonly notifyUrl?: string;
}

/** The simulated bank as a process of its own. It ends with this one, also when this one is killed. */
export async function startSimulatedBank(
  secrets: SandboxSecrets,
  log: Log,
  { journalFile, notifyUrl }: BankTransfers = {},
): Promise<SimulatedBank> {
  const privateKey = createPrivateKey(secrets.bankPrivateKey);
  const identity = { clientKey: 'tiba-sandbox', partnerId: 'TIBA', channelId: '95221' };
  const child = fork(BANK, {
    // Ctrl-C in the terminal must not end the bank while the service still asks it.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      BANK_CLIENT_KEY: identity.clientKey,
      BANK_CLIENT_SECRET: secrets.bankClientSecret,
      BANK_CLIENT_PUBLIC_KEY: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }),
      BANK_PARTNER_ID: identity.partnerId,
      BANK_CHANNEL_ID: identity.channelId,
      ...(journalFile === undefined ? {} : { BANK_JOURNAL_FILE: journalFile }),
      ...(notifyUrl === undefined ? {} : { BANK_NOTIFY_URL: notifyUrl }),
    },
  });
  const exited = once(child, 'exit');
  let stopping = false;
  const [message] = await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(READY_TIMEOUT_MS) }),
    exited.then(([code]) => {
      throw new StartError(`the simulated bank did not start: exit code ${code}`);
    }),
  ]).catch((error: unknown) => {
    // Left alive, its channel would keep this process alive too.
    child.kill('SIGKILL');
    throw error;
  });
  exited.then(
    () => stopping || log.error('the simulated bank has ended: account checks are SERVICE_UNAVAILABLE from now on'),
    () => {},
  );
  return {
    connection: {
      name: 'simulated-bank',
      baseUrl: (message as { baseUrl: string }).baseUrl,
      ...identity,
      clientSecret: secrets.bankClientSecret,
      privateKey,
      ownBank: 'CENAIDJA',
      banks: null,
    },
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await exited;
    },
  };
}
