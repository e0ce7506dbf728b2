import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type AddressGuard, createAddressGuard } from './address-guard.ts';
import { type ResolveName, resolveBySystem, resolveHost, resolveWithin } from './name-resolution.ts';
import { guardOf, hostOf, isLoopbackHost, isPrivateName, type OutboundPolicy } from './policy.ts';

/**
 * A URL that callbacks may be sent to, or a sentence that tells the client's developer what to do. `resolution` is for
 * the operator's log only: why the host's name was not accepted, where that was the fault.
 */
export type DestinationResult =
  | { readonly url: URL }
  | { readonly fault: string; readonly resolution?: 'blocked' | 'unresolved' };

export const URL_LENGTH_MAX = 2048;
/** Also the time after which every name that is not accepted is rejected. Clients wait for the answer. */
const RESOLUTION_TIMEOUT_MS = 3_000;

const NOT_PUBLIC = 'Use a host with a public address: callbacks are not sent to private or special addresses';

/**
 * Validates the text of a URL, without name resolution. The URL parser normalizes the other spellings of an address
 * (decimal, octal, hexadecimal, short, percent-encoded, full-width), and parses the same way for the connection.
 *
 * @param guard The policy's guard, for callers that create it once.
 */
export function validateDestination(
  text: string,
  policy: OutboundPolicy,
  guard: AddressGuard = createAddressGuard(policy.allowed),
): DestinationResult {
  if (text.length > URL_LENGTH_MAX) return { fault: `Use a URL of at most ${URL_LENGTH_MAX} characters` };
  // The parser would correct these silently, and the client would be shown another URL than it sent.
  if (/[\s\p{Cc}\\]/u.test(text)) {
    return { fault: 'Percent-encode spaces, control characters and backslashes in the URL' };
  }
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return { fault: 'Use an absolute https URL, such as https://callbacks.example.com/tiba' };
  if (url.href.length > URL_LENGTH_MAX) {
    return { fault: `Use a URL of at most ${URL_LENGTH_MAX} characters once it is percent-encoded` };
  }
  // Checked in the text: the parser drops an empty user name, and the # of an empty fragment.
  if (text.split(/[/?#]/, 3)[2]?.includes('@')) {
    return { fault: 'Leave user name and password out of the URL: callbacks are authenticated by their signature' };
  }
  if (text.includes('#')) return { fault: 'Leave the fragment (from # on) out of the URL: it is never sent' };
  const fault = validateHost(url, policy, guard);
  return fault === null ? { url } : { fault };
}

/**
 * Validates a URL and the addresses that its host has now. This check finds a client's mistakes early; it does not
 * protect the network. Each connection resolves the name and checks its addresses again.
 *
 * A name that resolves to a private address, one that does not exist and one whose servers are silent get the same
 * fault after the same time. A difference would tell clients which names exist inside the operator's network.
 */
export async function resolveDestination(
  text: string,
  policy: OutboundPolicy,
  {
    resolveName = resolveBySystem,
    timeoutMs = RESOLUTION_TIMEOUT_MS,
  }: { resolveName?: ResolveName; timeoutMs?: number } = {},
): Promise<DestinationResult> {
  const guard = createAddressGuard(policy.allowed);
  const result = validateDestination(text, policy, guard);
  if ('fault' in result) return result;
  const host = hostOf(result.url);
  const startedMs = performance.now();
  const resolution = await resolveHost(host, guardOf(host, policy, guard), (name) =>
    resolveWithin(timeoutMs, resolveName, name),
  );
  if (resolution.kind === 'permitted') return result;
  await wait(Math.max(startedMs + timeoutMs - performance.now(), 0));
  return {
    fault: `Check the host name: ${host} must resolve to public addresses only`,
    resolution: resolution.kind,
  };
}

function validateHost(url: URL, policy: OutboundPolicy, guard: AddressGuard): string | null {
  const host = hostOf(url);
  if (policy.loopbackHttp && isLoopbackHost(host)) return null;
  if (url.protocol !== 'https:') {
    return policy.loopbackHttp
      ? 'Use https: plain http is only for receivers on this machine (localhost)'
      : 'Use https: callbacks are only sent over TLS';
  }
  // RFC 6066, 3: the TLS handshake omits a name with the final dot, so the server may present the wrong certificate.
  if (host.endsWith('.')) return 'Leave out the dot at the end of the host name';
  if (isIP(host) !== 0) {
    if (!guard(host)) return NOT_PUBLIC;
  } else if (policy.allowed.length === 0 && isPrivateName(host)) {
    return `${NOT_PUBLIC}, and ${host} is a name without one`;
  }
  const port = url.port === '' ? 443 : Number(url.port);
  return policy.ports.includes(port) ? null : `Use one of the ports ${policy.ports.join(', ')}, not ${port}`;
}
