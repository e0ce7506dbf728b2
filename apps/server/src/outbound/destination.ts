import { isIP } from 'node:net';
import { type AddressGuard, createAddressGuard } from './address-guard.ts';
import { guardOf, hostOf, isLoopbackHost, isPrivateName } from './host.ts';
import { type LookUp, lookUpBySystem, lookUpWithin, resolveHost } from './look-up.ts';
import type { OutboundPolicy } from './policy.ts';

/** A URL that callbacks may be sent to, or a sentence that tells the client's developer what to do. */
export type Judgement = { readonly url: URL } | { readonly fault: string };

export const URL_LENGTH_MAX = 2048;
const LOOK_UP_TIMEOUT_MS = 5_000;

const NOT_PUBLIC = 'Use a host with a public address: callbacks are not sent to private or special addresses';

/**
 * Judges a URL by what it says, without asking anybody. The URL parser turns the other spellings of an address (decimal,
 * octal, hexadecimal, short, percent-encoded, full-width) into the usual one, and so will do for the connection.
 *
 * @param guard The policy's, where somebody who judges often has made it once.
 */
export function judgeDestination(
  text: string,
  policy: OutboundPolicy,
  guard: AddressGuard = createAddressGuard(policy.allowed),
): Judgement {
  if (text.length > URL_LENGTH_MAX) return { fault: `Use a URL of at most ${URL_LENGTH_MAX} characters` };
  // The parser would mend these in silence, and the client would be shown another URL than it sent.
  if (/[\s\p{Cc}\\]/u.test(text)) {
    return { fault: 'Percent-encode spaces, control characters and backslashes in the URL' };
  }
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return { fault: 'Use an absolute https URL, such as https://callbacks.example.com/tiba' };
  if (url.href.length > URL_LENGTH_MAX) {
    return { fault: `Use a URL of at most ${URL_LENGTH_MAX} characters once it is percent-encoded` };
  }
  // Taken from the text: the parser drops an empty user name, and an empty fragment's sign is lost too.
  if (text.split(/[/?#]/, 3)[2]?.includes('@')) {
    return { fault: 'Leave user name and password out of the URL: a callback proves itself by its signature' };
  }
  if (text.includes('#')) return { fault: 'Leave the fragment (from # on) out of the URL: it is never sent' };
  const fault = judgeHost(url, policy, guard);
  return fault === null ? { url } : { fault };
}

/**
 * Judges a URL, and the addresses that its host has at the moment. This saves the client a mistake; what protects the
 * network is that each connection resolves and judges again.
 */
export async function resolveDestination(
  text: string,
  policy: OutboundPolicy,
  { lookUp = lookUpBySystem, timeoutMs = LOOK_UP_TIMEOUT_MS }: { lookUp?: LookUp; timeoutMs?: number } = {},
): Promise<Judgement> {
  const guard = createAddressGuard(policy.allowed);
  const judgement = judgeDestination(text, policy, guard);
  if ('fault' in judgement) return judgement;
  const host = hostOf(judgement.url);
  const resolution = await resolveHost(host, guardOf(host, policy, guard), (name) =>
    lookUpWithin(timeoutMs, lookUp, name),
  );
  switch (resolution.kind) {
    case 'permitted':
      return judgement;
    case 'refused':
      return { fault: `${NOT_PUBLIC}, and ${host} has such an address` };
    case 'unresolved':
      return { fault: `Check the host name: ${host} cannot be resolved at the moment` };
  }
}

function judgeHost(url: URL, policy: OutboundPolicy, guard: AddressGuard): string | null {
  const host = hostOf(url);
  if (policy.loopbackHttp && isLoopbackHost(host)) return null;
  if (url.protocol !== 'https:') {
    return policy.loopbackHttp
      ? 'Use https: plain http is for receivers on this machine (localhost) alone'
      : 'Use https: callbacks are sent over TLS alone';
  }
  // RFC 6066, 3: a server is not told of a name with the dot, and may show the wrong certificate.
  if (host.endsWith('.')) return 'Leave out the dot at the end of the host name';
  if (isIP(host) !== 0) {
    if (!guard(host)) return NOT_PUBLIC;
  } else if (policy.allowed.length === 0 && isPrivateName(host)) {
    return `${NOT_PUBLIC}, and ${host} is a name without one`;
  }
  const port = url.port === '' ? 443 : Number(url.port);
  return policy.ports.includes(port) ? null : `Use one of the ports ${policy.ports.join(', ')}, not ${port}`;
}
