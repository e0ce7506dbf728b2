import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type BilingualText, followedBy } from '../lib/bilingual-text.ts';
import { type AddressGuard, createAddressGuard } from './address-guard.ts';
import { type ResolveName, resolveBySystem, resolveHost, resolveWithin } from './name-resolution.ts';
import { guardOf, hostOf, isLoopbackHost, isPrivateName, type OutboundPolicy } from './policy.ts';

/**
 * A URL that callbacks may be sent to, or a sentence that tells the client's developer what to do. `resolution` is for
 * the operator's log only: why the host's name was not accepted, where that was the fault.
 */
export type DestinationResult =
  | { readonly url: URL }
  | { readonly fault: BilingualText; readonly resolution?: 'blocked' | 'unresolved' };

export const URL_LENGTH_MAX = 2048;
/** Also the time after which every name that is not accepted is rejected. Clients wait for the answer. */
const RESOLUTION_TIMEOUT_MS = 3_000;

const NOT_PUBLIC: BilingualText = {
  en: 'Use a host with a public address: callbacks are not sent to private or special addresses',
  id: 'Gunakan host dengan alamat publik: callback tidak dikirim ke alamat privat atau khusus',
};

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
  if (text.length > URL_LENGTH_MAX) return { fault: TOO_LONG };
  // The parser would correct these silently, and the client would be shown another URL than it sent.
  if (/[\s\p{Cc}\\]/u.test(text)) {
    return { fault: UNENCODED };
  }
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return { fault: NOT_ABSOLUTE };
  if (url.href.length > URL_LENGTH_MAX) {
    return { fault: TOO_LONG_ENCODED };
  }
  // Checked in the text: the parser drops an empty user name, and the # of an empty fragment.
  if (text.split(/[/?#]/, 3)[2]?.includes('@')) {
    return { fault: WITH_USER };
  }
  if (text.includes('#')) return { fault: WITH_FRAGMENT };
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
    fault: {
      en: `Check the host name: ${host} must resolve to public addresses only`,
      id: `Periksa nama host: ${host} hanya boleh mengarah ke alamat publik`,
    },
    resolution: resolution.kind,
  };
}

function validateHost(url: URL, policy: OutboundPolicy, guard: AddressGuard): BilingualText | null {
  const host = hostOf(url);
  if (policy.loopbackHttp && isLoopbackHost(host)) return null;
  if (url.protocol !== 'https:') {
    return policy.loopbackHttp ? PLAIN_HTTP_ELSEWHERE : PLAIN_HTTP;
  }
  // RFC 6066, 3: the TLS handshake omits a name with the final dot, so the server may present the wrong certificate.
  if (host.endsWith('.')) return FINAL_DOT;
  if (isIP(host) !== 0) {
    if (!guard(host)) return NOT_PUBLIC;
  } else if (policy.allowed.length === 0 && isPrivateName(host)) {
    return followedBy(NOT_PUBLIC, {
      en: `, and ${host} is a name without one`,
      id: `, dan ${host} adalah nama tanpa alamat publik`,
    });
  }
  const port = url.port === '' ? 443 : Number(url.port);
  if (policy.ports.includes(port)) return null;
  const ports = policy.ports.join(', ');
  return { en: `Use one of the ports ${ports}, not ${port}`, id: `Gunakan salah satu port ${ports}, bukan ${port}` };
}

const TOO_LONG: BilingualText = {
  en: `Use a URL of at most ${URL_LENGTH_MAX} characters`,
  id: `Gunakan URL dengan paling banyak ${URL_LENGTH_MAX} karakter`,
};
const TOO_LONG_ENCODED = followedBy(TOO_LONG, {
  en: ' once it is percent-encoded',
  id: ' setelah percent-encoding',
});
const UNENCODED: BilingualText = {
  en: 'Percent-encode spaces, control characters and backslashes in the URL',
  id: 'Tulis spasi, karakter kontrol dan garis miring terbalik dalam URL dengan percent-encoding',
};
const NOT_ABSOLUTE: BilingualText = {
  en: 'Use an absolute https URL, such as https://callbacks.example.com/tiba',
  id: 'Gunakan URL https lengkap, misalnya https://callbacks.example.com/tiba',
};
const WITH_USER: BilingualText = {
  en: 'Leave user name and password out of the URL: callbacks are authenticated by their signature',
  id: 'Hapus nama pengguna dan kata sandi dari URL: callback diautentikasi dengan tanda tangannya',
};
const WITH_FRAGMENT: BilingualText = {
  en: 'Leave the fragment (from # on) out of the URL: it is never sent',
  id: 'Hapus fragmen (mulai dari #) dari URL: bagian itu tidak pernah dikirim',
};
const PLAIN_HTTP: BilingualText = {
  en: 'Use https: callbacks are only sent over TLS',
  id: 'Gunakan https: callback hanya dikirim melalui TLS',
};
const PLAIN_HTTP_ELSEWHERE: BilingualText = {
  en: 'Use https: plain http is only for receivers on this machine (localhost)',
  id: 'Gunakan https: http biasa hanya untuk penerima di mesin ini (localhost)',
};
const FINAL_DOT: BilingualText = {
  en: 'Leave out the dot at the end of the host name',
  id: 'Hapus titik di akhir nama host',
};
