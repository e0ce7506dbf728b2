import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { addressOf } from '../address-of.ts';

/** What a process of the benchmark can be told to do, by name. What is given and what comes back must fit into JSON. */
export type Commands = Readonly<Record<string, (given: unknown) => unknown>>;

export interface Control {
  readonly url: string;
  close(): void;
}

/** Apart from what is measured: its own listener, and asked only before and after. */
export async function startControl(commands: Commands): Promise<Control> {
  async function obey(request: IncomingMessage): Promise<string> {
    const command = commands[request.url?.slice(1) ?? ''];
    if (command === undefined) throw new Error(`there is no command ${request.url}`);
    return JSON.stringify((await command(await json(request))) ?? null);
  }
  const server = createServer((request, response) => {
    obey(request).then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: addressOf(server),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export type Tell = <Answer>(name: string, given?: unknown) => Promise<Answer>;

/** The way to a process's commands. */
export const tellAt =
  (url: string, signal: AbortSignal): Tell =>
  async <Answer>(name: string, given: unknown = null) => {
    const response = await fetch(`${url}/${name}`, { method: 'POST', body: JSON.stringify(given), signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${text}`);
    return JSON.parse(text) as Answer;
  };
