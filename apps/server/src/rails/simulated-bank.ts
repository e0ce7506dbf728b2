import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** The organization of the authority that issues the certificate of the simulated bank (apps/bank). */
const SIMULATED_BANK = 'O=Tiba simulated bank';

/** Whether one of the certificates in a PEM text is the authority of the simulated bank. */
export function containsSimulatedAuthority(pem: string): boolean {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.some((each) => isSimulated(parse(each)?.subject));
}

/** Whether a connection leads to the simulated bank, whatever the authorities are that it is trusted by. */
export const leadsToSimulatedBank = (socket: Socket): boolean =>
  socket instanceof TLSSocket && isSimulated(socket.getPeerX509Certificate()?.issuer);

/** A name has one attribute on each line. */
const isSimulated = (name: string | undefined): boolean => name?.split('\n').includes(SIMULATED_BANK) === true;

function parse(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}
