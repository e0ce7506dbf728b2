import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { folderOf } from '../access-token.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const CONNECT_MS_MAX = 5_000;
const ANSWER_MS_MAX = 10_000;

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** DNS: does the name of the service have an address? */
export async function checkNames(url: URL): Promise<Finding[]> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [ok('dns', `${host} is an address`)];
  try {
    const addresses = await lookup(host, { all: true });
    return [ok('dns', `${host} is ${addresses.map(({ address }) => address).join(', ')}`)];
  } catch (error) {
    const advice = 'Check the spelling of the address, the network, and whether a VPN is needed.';
    return [failed('dns', `${host}: ${textOf(error)}`, advice)];
  }
}

/** The connection and, with https, the certificate. */
export async function checkTransport(url: URL, signal: AbortSignal): Promise<Finding[]> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS_MAX)]);
  const target = { host: hostOf(url), port: portOf(url) };
  const isTls = url.protocol === 'https:';
  const startedMs = performance.now();
  const servername = isIP(target.host) === 0 ? { servername: target.host } : {};
  const socket = isTls ? connectTls({ ...target, ...servername }) : connectTcp(target);
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect', { signal: within });
    const tookMs = Math.round(performance.now() - startedMs);
    const network = ok('network', `connected to port ${target.port} in ${tookMs} ms`);
    return [network, isTls ? certificateOf(socket as TLSSocket) : ok('tls', 'none: plain http')];
  } catch (error) {
    signal.throwIfAborted();
    return [failureOf(error, target, within.aborted)];
  } finally {
    socket.destroy();
  }
}

const EXPIRES_SOON_MS = 14 * 86_400_000;

function certificateOf(socket: TLSSocket): Finding {
  const { valid_to: validTo, issuer } = socket.getPeerCertificate();
  const leftMs = Date.parse(validTo) - Date.now();
  const days = Math.floor(leftMs / 86_400_000);
  const message = `${socket.getProtocol()}, certificate of ${String(issuer?.O ?? issuer?.CN)}, valid for ${days} days`;
  if (leftMs > EXPIRES_SOON_MS) return ok('tls', message);
  return warning('tls', message, 'Tell the operator of the service: without a new certificate, calls will fail.');
}

const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|ALTNAME/;

function failureOf(error: unknown, { host, port }: { host: string; port: number }, isLate: boolean): Finding {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const where = `${host} port ${port}`;
  if (isLate) {
    const advice = 'A firewall may drop the connection: check the network, the port, and whether a VPN is needed.';
    return failed('network', `no answer from ${where} within ${CONNECT_MS_MAX / 1_000} s`, advice);
  }
  if (CERTIFICATE_CODES.test(code)) {
    const advice = 'Where the certificate is of your own authority, name its file in NODE_EXTRA_CA_CERTS.';
    return failed('tls', `${where}: ${textOf(error)}`, advice);
  }
  if (code === 'ECONNREFUSED') {
    return failed('network', `${where} refuses the connection`, 'Is the service running, and is the port right?');
  }
  return failed('network', `${where}: ${textOf(error)}`, 'Check the address, the network, and what is in between.');
}

/** Beyond this, times in logs mislead; beyond five minutes, callbacks are refused and so are some tokens. */
const SKEW_MS_WARNING = 5_000;
const SKEW_MS_MAX = 300_000;

/** What answers, its version, and how far the two clocks are apart. */
export async function checkClockAndVersion(url: URL, signal: AbortSignal): Promise<Finding[]> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const sentMs = Date.now();
  try {
    const answer = await fetch(new URL('openapi.json', folderOf(url.href)), { redirect: 'manual', signal: within });
    const receivedMs = Date.now();
    const { info } = (await answer.json().catch(() => ({}))) as {
      readonly info?: { title?: unknown; version?: unknown };
    };
    if (info === undefined) {
      const advice = 'Check the address: a proxy or another program answers there.';
      return [failed('service', `what answers is not Tiba: HTTP ${answer.status}`, advice)];
    }
    const version = `${String(info.title)}, API version ${String(info.version)}`;
    return [ok('service', `${version}, answered in ${receivedMs - sentMs} ms`), clockOf(answer, sentMs, receivedMs)];
  } catch (error) {
    signal.throwIfAborted();
    const reason = textOf(error instanceof Error && error.cause instanceof Error ? error.cause : error);
    return [failed('service', reason, 'It accepts connections and does not answer: tell the operator.')];
  }
}

function clockOf({ headers }: Response, sentMs: number, receivedMs: number): Finding {
  // `Date` has whole seconds: the middle of its second is compared with the middle of the exchange.
  const theirsMs = Date.parse(headers.get('date') ?? '') + 500;
  const skewMs = (sentMs + receivedMs) / 2 - theirsMs;
  if (Number.isNaN(skewMs)) return warning('clock', 'the service sends no Date', 'Something in between removes it.');
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  if (Math.abs(skewMs) <= SKEW_MS_WARNING) return ok('clock', `${seconds} s from that of the service`);
  const message = `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the service`;
  const advice = 'Set the clock of this machine (NTP): callbacks are refused when it is five minutes off.';
  return Math.abs(skewMs) > SKEW_MS_MAX ? failed('clock', message, advice) : warning('clock', message, advice);
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message || String(error) : String(error));
