import { readFile } from 'node:fs/promises';
import { findLastingPort } from '../../campaign/random/ports.ts';
import type { ProcessPorts } from './haproxy.ts';
import { type RunningProxy, startProxy } from './running-proxy.ts';

const SHIPPED = new URL('../../deploy/nginx/nginx.conf', import.meta.url);

/** nginx with the configuration in deploy/, without TLS and with the addresses of the processes. */
export async function startNginx(processes: readonly ProcessPorts[]): Promise<RunningProxy> {
  const [port, corePort] = [await findLastingPort(), await findLastingPort()];
  const servers = (portOf: (each: ProcessPorts) => number): string =>
    processes.map((each) => `server 127.0.0.1:${portOf(each)} max_fails=1 fail_timeout=1s;\n`).join('');
  const shipped = await readFile(SHIPPED, 'utf8');
  const configuration = shipped
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*\n/gm, '')
    .replace('listen 127.0.0.1:8090;', `listen 127.0.0.1:${corePort};`)
    .replace(
      /(?: *server \S+:8080 .*\n)+/,
      servers((each) => each.port),
    )
    .replace(
      /(?: *server \S+:8081 .*\n)+/,
      servers((each) => each.operatorPort),
    )
    .replace('worker_processes auto;', 'worker_processes 1;\ndaemon off;')
    .replace('pid /run/nginx.pid;', 'pid nginx.pid;')
    .replaceAll('/var/log/nginx/', '')
    .replace('worker_connections 10000;', 'worker_connections 1000;');
  return startProxy({
    name: 'nginx',
    configuration,
    arguments: (file, directory) => ['-p', directory, '-c', file],
    port,
    corePort,
  });
}
