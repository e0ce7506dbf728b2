import type { Server } from 'node:tls';
import type { TlsFiles } from '../../config/listeners.ts';
import type { Log } from '../../observability/log.ts';
import { createTlsIdentity, readTlsFiles, TlsFilesFault, type TlsIdentity } from './identity.ts';

/**
 * Replaces the certificate of a listener when its files change. Connections that are open keep theirs.
 *
 * The files are read and compared, and not watched: Kubernetes and certbot replace links to them, of which a watcher of
 * the file hears nothing.
 */
export interface Renewal {
  close(): void;
}

export interface RenewalOptions {
  readonly listener: string;
  readonly files: TlsFiles;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Called with the certificate in use, at once and after each change. */
  readonly onIdentity: (identity: TlsIdentity) => void;
  /** Shorter in tests that cannot wait. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5_000;
const DAY_MS = 86_400_000;
const WARNED_BEFORE_MS = 14 * DAY_MS;

interface RenewalState {
  readonly options: RenewalOptions;
  readonly server: Pick<Server, 'setSecureContext'>;
  identity: TlsIdentity;
  /** What the files held when they were last read, or why they could not be read. */
  seen: string;
  /** Whether that is in use, or was refused and reported. */
  isSettled: boolean;
  warnedAtMs: number;
}

/** @param identity what `server` was created with */
export function startRenewal(server: RenewalState['server'], identity: TlsIdentity, options: RenewalOptions): Renewal {
  const state: RenewalState = {
    options,
    server,
    identity,
    seen: identity.contents,
    isSettled: true,
    warnedAtMs: Number.NEGATIVE_INFINITY,
  };
  options.onIdentity(identity);
  warnOfExpiry(state);
  // One at a time: a disk that hangs must not collect them.
  let isReading = false;
  async function check(): Promise<void> {
    if (isReading) return;
    isReading = true;
    await renew(state).catch((error: unknown) => {
      options.log.error({ listener: options.listener, err: error }, 'the certificate was not renewed; will retry');
    });
    isReading = false;
  }
  const timer = setInterval(() => void check(), options.intervalMs ?? INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };
}

async function renew(state: RenewalState): Promise<void> {
  const { listener, files, log, onIdentity } = state.options;
  const read = await readIdentity(files);
  const hasChanged = read.contents !== state.seen;
  if (hasChanged) Object.assign(state, { seen: read.contents, isSettled: read.contents === state.identity.contents });
  const fault = 'fault' in read ? read.fault : expiredInsteadOf(state.identity, read);
  if (state.isSettled) {
    warnOfExpiry(state);
  } else if ('fault' in read || fault !== null) {
    // Key and certificate are two files: the other one may be written next.
    if (hasChanged) return;
    state.isSettled = true;
    log.error({ listener, fault }, 'the new certificate is refused; the one in use stays');
  } else if (mustWaitFor(read, state.identity)) {
    if (hasChanged) {
      const validFrom = new Date(read.validFromMs).toISOString();
      log.warn({ listener, validFrom }, 'the new certificate is not valid yet; the one in use stays until it is');
    }
    warnOfExpiry(state);
  } else {
    state.server.setSecureContext(read.context);
    Object.assign(state, { identity: read, isSettled: true, warnedAtMs: Number.NEGATIVE_INFINITY });
    onIdentity(read);
    log.info({ listener, ...describe(read) }, 'the certificate has changed; new connections get the new one');
    warnOfExpiry(state);
  }
}

/** `contents`: what was read, or the fault. */
type Faulty = { readonly fault: string; readonly contents: string };

async function readIdentity(files: TlsFiles): Promise<TlsIdentity | Faulty> {
  let contents = '';
  try {
    const read = await readTlsFiles(files);
    contents = JSON.stringify(read);
    return createTlsIdentity(read, files);
  } catch (error) {
    if (!(error instanceof TlsFilesFault)) throw error;
    return { fault: error.message, contents: contents === '' ? error.message : contents };
  }
}

/** An old file that was copied back would end the service for all clients. At the start there is nothing better. */
const expiredInsteadOf = (current: TlsIdentity, { expiresAtMs }: TlsIdentity): string | null =>
  expiresAtMs <= Date.now() && expiresAtMs < current.expiresAtMs
    ? `it expired at ${new Date(expiresAtMs).toISOString()}`
    : null;

/** Clients refuse a certificate that is not valid yet. It is checked again each time that the files are read. */
const mustWaitFor = ({ validFromMs }: TlsIdentity, current: TlsIdentity): boolean =>
  validFromMs > Date.now() && current.validFromMs <= Date.now() && current.expiresAtMs > Date.now();

const describe = ({ certificate, expiresAtMs }: TlsIdentity) => ({
  subject: certificate.subject,
  fingerprint: certificate.fingerprint256,
  expiresAt: new Date(expiresAtMs).toISOString(),
});

/** Once a day, in the last two weeks. */
function warnOfExpiry(state: RenewalState): void {
  const { listener, log } = state.options;
  const { identity, warnedAtMs } = state;
  const leftMs = identity.expiresAtMs - Date.now();
  if (leftMs > WARNED_BEFORE_MS || performance.now() - warnedAtMs < DAY_MS) return;
  state.warnedAtMs = performance.now();
  if (leftMs > 0) log.warn({ listener, ...describe(identity) }, 'the certificate expires soon; replace its files');
  else log.error({ listener, ...describe(identity) }, 'the certificate has expired; replace its files');
}
