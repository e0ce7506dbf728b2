import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Authenticator, Caller } from '../../auth/authenticator.ts';
import type { Client, Clients } from '../../auth/clients.ts';
import type { Scope } from '../../auth/scopes.ts';
import type { Notifications } from '../../postgres/notifications.ts';

export interface CertificateAuthenticationDependencies {
  readonly authenticator: Authenticator;
  readonly clients: Pick<Clients, 'find'>;
  readonly notifications: Pick<Notifications, 'isCurrent' | 'waitUntilCurrent'>;
}

/** Of those that a certificate alone permits. The others belong to the public listener, which knows no certificates. */
const OPERATOR_SCOPES: ReadonlySet<Scope> = new Set(['feed:write', 'operator:read']);

/**
 * For the operator listener, where each connection has a certificate that one of the operator's authorities issued. A
 * request without a token is sent by the client whose ID is the common name (CN) of the certificate's subject, with
 * those scopes of the client that are for this listener. A request with a token is judged by the token alone.
 */
export function acceptClientCertificates(dependencies: CertificateAuthenticationDependencies): Authenticator {
  const { authenticator, clients, notifications } = dependencies;
  return {
    ...authenticator,
    authenticate(authorization, from) {
      const name = authorization === undefined && 'raw' in from ? nameOf(from.raw as IncomingMessage) : null;
      if (name === null) return authenticator.authenticate(authorization, from);
      const answer = () => {
        const client = clients.find(name);
        // Counted as a failure, and answered as any other request without a token.
        if (client === undefined || client.disabled) return authenticator.authenticate(undefined, from);
        return { outcome: 'authenticated', caller: callerOf(client) } as const;
      };
      if (notifications.isCurrent()) return answer();
      return notifications
        .waitUntilCurrent()
        .then((isCurrent) => (isCurrent ? answer() : ({ outcome: 'unavailable' } as const)));
    },
  };
}

/** The handshake has verified the certificate, or there would be no request. */
function nameOf({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  // Several common names are an array.
  return typeof name === 'string' ? name : null;
}

const callerOf = (client: Client): Caller => ({
  client,
  scopes: client.scopes.intersection(OPERATOR_SCOPES),
  expiresAtMs: Number.POSITIVE_INFINITY,
});
