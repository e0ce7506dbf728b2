import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import type { Log } from '../../observability/log.ts';

/** Why a handshake did not come to an end. */
export type HandshakeFailure = 'timeout' | 'version' | 'client_certificate' | 'other';

export interface HandshakeOptions {
  readonly listener: string;
  readonly onFailed: (reason: HandshakeFailure) => void;
  readonly log: Pick<Log, 'debug'>;
}

/**
 * Takes the failures of handshakes, which are no errors of HTTP: nothing can be answered, and the connection is closed.
 * `handshakeTimeout` of the server is their deadline. Each connection counts from the moment when it is accepted
 * (connections/connection-limits.ts), so their number is bounded too.
 *
 * Returns the function that ends those that are not finished, which `http.Server.close` would wait for.
 */
export function watchHandshakes(server: Server, { listener, onFailed, log }: HandshakeOptions): () => void {
  const unfinished = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    unfinished.set(peer, socket);
    socket.once('close', () => {
      if (unfinished.get(peer) === socket) unfinished.delete(peer);
    });
  });
  server.on('secureConnection', (socket) => unfinished.delete(peerOf(socket)));
  // node:https would report them as errors of the client, like malformed HTTP.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: Error & { readonly code?: string }, socket: TLSSocket) => {
    onFailed(reasonOf(error.code, socket));
    log.debug({ listener, address: socket.remoteAddress, code: error.code }, 'tls handshake failed; connection closed');
    socket.destroy();
  });
  return () => {
    for (const socket of unfinished.values()) socket.destroy();
  };
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

const REASONS: Readonly<Record<string, HandshakeFailure>> = {
  ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'version',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'client_certificate',
};

/** A certificate that is there and not accepted has no error of its own. */
const reasonOf = (code = '', { authorizationError }: TLSSocket): HandshakeFailure =>
  REASONS[code] ?? (authorizationError ? 'client_certificate' : 'other');
