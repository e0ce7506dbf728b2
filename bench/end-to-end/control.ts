import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { listenOnLoopback } from '../as-child.ts';

/** The commands of a benchmark process, by name. Arguments and results must be JSON. */
export type Commands = Readonly<Record<string, (argument: unknown) => unknown>>;

export interface ControlServer {
  readonly url: string;
  close(): void;
}

/** A listener of its own, apart from what is measured. It gets requests only before and after a measurement. */
export async function startControlServer(commands: Commands): Promise<ControlServer> {
  async function execute(request: IncomingMessage): Promise<string> {
    const command = commands[request.url?.slice(1) ?? ''];
    if (command === undefined) throw new Error(`there is no command ${request.url}`);
    return JSON.stringify((await command(await json(request))) ?? null);
  }
  const server = createServer((request, response) => {
    execute(request).then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  return listenOnLoopback(server);
}

export type SendCommand = <Result>(name: string, argument?: unknown) => Promise<Result>;

/** A function that sends commands to the control server of a process. */
export const commandSender =
  (url: string, signal: AbortSignal): SendCommand =>
  async <Result>(name: string, argument: unknown = null) => {
    const response = await fetch(`${url}/${name}`, { method: 'POST', body: JSON.stringify(argument), signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${text}`);
    return JSON.parse(text) as Result;
  };
