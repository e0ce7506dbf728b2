import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { findLastingPort } from '../../campaign/random/ports.ts';
import { type RunningProxy, startProxy } from './running-proxy.ts';

const SHIPPED = new URL('../../deploy/haproxy/haproxy.cfg', import.meta.url);
const SHIPPED_DIRECTORY = fileURLToPath(new URL('.', SHIPPED));

/** Where a process of the service listens on 127.0.0.1. */
export interface ProcessPorts {
  readonly port: number;
  readonly operatorPort: number;
}

export interface HaproxyOptions {
  readonly processes: readonly ProcessPorts[];
  /** Replaces the intervals of the health checks, so that a process need not wait 5 s: in tests that are short. */
  readonly checksEach?: string;
}

/** HAProxy with the configuration in deploy/, without TLS and with the addresses of the processes. */
export async function startHaproxy({ processes, checksEach }: HaproxyOptions): Promise<RunningProxy> {
  const [port, corePort] = [await findLastingPort(), await findLastingPort()];
  const servers = (addressOf: (each: ProcessPorts) => string): string =>
    processes.map((each, index) => `    server tiba${index + 1} 127.0.0.1:${addressOf(each)}\n`).join('');
  const shipped = await readFile(SHIPPED, 'utf8');
  const configuration = shipped
    .replace('maxconn 20000', 'maxconn 1000')
    .replaceAll('/etc/haproxy/503.http', `${SHIPPED_DIRECTORY}503.http`)
    .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)
    .replace('bind 127.0.0.1:8090', `bind 127.0.0.1:${corePort}`)
    .replace(
      /(?: {4}server \S+ \S+:8080 port 8081\n)+/,
      servers((each) => `${each.port} port ${each.operatorPort}`),
    )
    .replace(
      /(?: {4}server \S+ \S+:8081\n)+/,
      servers((each) => String(each.operatorPort)),
    )
    .replace('inter 1s fastinter 250ms', checksEach ?? 'inter 1s fastinter 250ms');
  return startProxy({ name: 'haproxy', configuration, arguments: (file) => ['-db', '-f', file], port, corePort });
}

/**
 * As a Service of Kubernetes does it: HAProxy balances connections, not requests, and new ones go to processes that are
 * ready.
 */
export async function startConnectionBalancer(processes: readonly ProcessPorts[]): Promise<RunningProxy> {
  const [port, corePort] = [await findLastingPort(), await findLastingPort()];
  const servers = (addressOf: (each: ProcessPorts) => number): string =>
    processes
      .map((each, index) => `  server s${index} 127.0.0.1:${addressOf(each)} check port ${each.operatorPort}\n`)
      .join('');
  const configuration = `
defaults
  mode tcp
  timeout connect 1s
  # Without it, a process that takes longer than "inter" to answer a check counts as gone, and then there is none.
  timeout check 10s
  timeout client 75s
  timeout server 75s
  retries 2
  option redispatch 1
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server inter 100ms fall 1 rise 1
listen public
  bind 127.0.0.1:${port}
${servers((each) => each.port)}listen operator
  bind 127.0.0.1:${corePort}
${servers((each) => each.operatorPort)}`;
  return startProxy({ name: 'haproxy', configuration, arguments: (file) => ['-db', '-f', file], port, corePort });
}
