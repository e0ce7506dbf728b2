import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Settings } from '../config/config.ts';
import { type TlsFiles, tlsFilesOf } from '../config/listeners.ts';
import type { ListenerName } from '../http/request-checks.ts';
import { createTlsIdentity, readTlsFilesSync, TlsFilesFault, type TlsIdentity } from '../http/tls/identity.ts';
import { startRenewal } from '../http/tls/renewal.ts';
import { StartError } from '../lib/start-error.ts';
import type { AppContext } from './app-context.ts';

/** What a listener presents at its start, and the files from which it is renewed. */
export interface ListenerTls {
  readonly identity: TlsIdentity;
  readonly files: TlsFiles;
}

/**
 * The TLS of the listeners; null where one speaks plain HTTP. The SNAP listener has that of the public one.
 * @throws StartError when a file cannot be used
 */
export function openTls(settings: Settings): Readonly<Record<'public' | 'operator', ListenerTls | null>> {
  const files = tlsFilesOf(settings);
  return { public: readListenerTls(files.public), operator: readListenerTls(files.operator) };
}

/** What is wrong with the files that the settings name. */
export const findTlsFaults = (settings: Settings): string[] =>
  [...new Set(Object.values(tlsFilesOf(settings)))].flatMap((files) => {
    try {
      readListenerTls(files);
      return [];
    } catch (error) {
      if (error instanceof StartError) return error.message;
      throw error;
    }
  });

function readListenerTls(files: TlsFiles | null): ListenerTls | null {
  if (files === null) return null;
  try {
    return { identity: createTlsIdentity(readTlsFilesSync(files), files), files };
  } catch (error) {
    throw error instanceof TlsFilesFault ? new StartError(error.message, { cause: error }) : error;
  }
}

/** From now on the listeners present what their files hold. */
export function renewTls(
  context: AppContext,
  servers: Readonly<Record<ListenerName, FastifyInstance | null>>,
  tls: Readonly<Record<'public' | 'operator', ListenerTls | null>>,
): void {
  renewOne(context, 'public', servers.public, tls.public);
  renewOne(context, 'operator', servers.operator, tls.operator);
  renewOne(context, 'snap', servers.snap, tls.public);
}

function renewOne(
  { metrics, options, onClose }: AppContext,
  name: ListenerName,
  app: FastifyInstance | null,
  tls: ListenerTls | null,
): void {
  if (tls === null || !(app?.server instanceof TlsServer)) return;
  const renewal = startRenewal(app.server, tls.identity, {
    listener: name,
    files: tls.files,
    log: options.logging.log,
    onIdentity: ({ expiresAtMs }) => metrics.certificateExpiry.set({ listener: name }, Math.floor(expiresAtMs / 1000)),
    ...(options.certificateIntervalMs === undefined ? {} : { intervalMs: options.certificateIntervalMs }),
  });
  onClose(`renewal of the certificate (${name})`, async () => renewal.close());
}
