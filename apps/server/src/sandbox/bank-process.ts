import { type ChildProcess, fork } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { StartError } from '../lib/start-error.ts';
import type { Log } from '../observability/log.ts';
import type { Rail } from '../rails/rail.ts';
import type { SnapSettings } from '../rails/snap/settings.ts';
import { createSnapRail } from '../rails/snap/snap-rail.ts';
import { createSnapTransfers, type SnapTransfers } from '../rails/snap/transfers.ts';
import type { WalletRoute, WalletRoutes } from '../rails/snap/wallets.ts';
import type { SandboxSecrets } from './secrets.ts';

const BANK = fileURLToPath(new URL('../../../bank/src/main.ts', import.meta.url));
const READY_TIMEOUT_MS = 30_000;
const CLOCK_TIMEOUT_MS = 5_000;

export interface SimulatedBank {
  /** The connection to it: the bank is BCA, and forwards inquiries about every other bank. */
  readonly connection: SnapSettings;
  /** The rail to it. The caller closes it. */
  readonly rail: Rail;
  /** Orders transfers and reads the bank's notifications about them. */
  readonly transfers: SnapTransfers;
  /**
   * Advances the clock that its transfers follow. `answer` is the bank's JSON text; `done` is false when it rejects.
   */
  advanceClock(seconds: number): Promise<{ readonly done: boolean; readonly answer: string }>;
  stop(): Promise<void>;
}

export interface BankTransfers {
  /** Where it stores transfers, so that they continue after a restart. */
  readonly journalFile?: string;
  /** Where it sends notifications about them. */
  readonly notifyUrl?: string;
}

/** Starts the simulated bank in its own process. It ends with this process, even when this one is killed. */
export async function startSimulatedBank(
  secrets: SandboxSecrets,
  log: Log,
  { journalFile, notifyUrl }: BankTransfers = {},
): Promise<SimulatedBank> {
  const privateKey = createPrivateKey(secrets.bankPrivateKey);
  const identity = { clientKey: 'tiba-sandbox', partnerId: 'TIBA', channelId: '95221' };
  const child = forkBank({
    BANK_CLIENT_KEY: identity.clientKey,
    BANK_CLIENT_SECRET: secrets.bankClientSecret,
    BANK_CLIENT_PUBLIC_KEY: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }),
    BANK_PARTNER_ID: identity.partnerId,
    BANK_CHANNEL_ID: identity.channelId,
    ...(journalFile === undefined ? {} : { BANK_JOURNAL_FILE: journalFile }),
    ...(notifyUrl === undefined ? {} : { BANK_NOTIFY_URL: notifyUrl }),
  });
  const exited = once(child, 'exit');
  let stopping = false;
  const [message] = await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(READY_TIMEOUT_MS) }),
    exited.then(([code]) => {
      throw new StartError(`the simulated bank did not start: exit code ${code}`);
    }),
  ]).catch((error: unknown) => {
    // The IPC channel of a live child would keep this process alive.
    child.kill('SIGKILL');
    throw error;
  });
  exited.then(
    () =>
      stopping ||
      log.error('simulated bank exited: account checks answer SERVICE_UNAVAILABLE until the sandbox is restarted'),
    () => {},
  );
  const { baseUrl } = message as { baseUrl: string };
  const connection: SnapSettings = {
    name: 'simulated-bank',
    baseUrl,
    ...identity,
    clientSecret: secrets.bankClientSecret,
    privateKey,
    ownBank: 'CENAIDJA',
    banks: null,
    wallets: SIMULATED_WALLETS,
  };
  const transfers = createSnapTransfers(connection);
  return {
    connection,
    rail: createSnapRail(connection),
    transfers,
    async advanceClock(seconds) {
      const response = await fetch(`${baseUrl}/simulation/clock`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ advance_seconds: seconds }),
        signal: AbortSignal.timeout(CLOCK_TIMEOUT_MS),
      });
      const answer = await response.text();
      return response.ok ? { done: true, answer } : { done: false, answer: errorIn(answer) };
    },
    async stop() {
      stopping = true;
      await transfers.close();
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The sentence of the simulated bank's error, to stand in another one. */
function errorIn(answer: string): string {
  const { error } = JSON.parse(answer) as { readonly error: string };
  return error.replace(/\.$/, '');
}

/** Each is named to the bank; i.saku is a virtual account there. */
const SIMULATED_WALLETS: WalletRoutes = new Map<string, WalletRoute>([
  ...['GOPAY', 'DANA', 'OVO', 'SHOPEEPAY', 'LINKAJA'].map((productCode): [string, WalletRoute] => [
    productCode,
    {
      service: '37',
      path: '/v1.0/emoney/account-inquiry',
      amount: '10000.00',
      additionalInfo: { productCode },
      mobile: 'international',
    },
  ]),
  ['ISAKU', { service: '16', bankCode: { sent: 'BNIAIDJA', echoed: 'BNIAIDJA' }, prefix: '7939', mobile: 'national' }],
]);

const forkBank = (env: NodeJS.ProcessEnv): ChildProcess =>
  fork(BANK, {
    // Ctrl-C in the terminal must not end the bank while the service still has inquiries in flight.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env,
  });
