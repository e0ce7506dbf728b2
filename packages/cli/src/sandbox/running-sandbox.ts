import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CommandError, reasonOf } from '../errors.ts';
import { plain } from '../output/style.ts';

/** What `sandbox.json` says about a sandbox that runs on this machine, as far as the commands need it. */
export interface SandboxDescription {
  readonly base_url: string;
  readonly operator_url: string;
  /** The disbursement core's login, whose token is valid for 24 hours after the start. */
  readonly feed: { readonly access_token: string };
}

export const descriptionFileOf = (directory: string): string => path.join(directory, 'sandbox.json');

/** Differs after each start of a sandbox; null when there is none. */
export const descriptionTimeOf = (directory: string): number | null =>
  statSync(descriptionFileOf(directory), { throwIfNoEntry: false })?.mtimeMs ?? null;

const START = 'Start it with `tiba sandbox start`, or name its data directory with --directory.';

/** Null when there is none, or while it is being written. */
export async function findDescription(directory: string): Promise<SandboxDescription | null> {
  try {
    return JSON.parse(await readFile(descriptionFileOf(directory), 'utf8')) as SandboxDescription;
  } catch {
    return null;
  }
}

export interface SandboxRequest {
  readonly directory: string;
  readonly path: '/sandbox/v1/disbursements' | '/sandbox/v1/clock';
  readonly body: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** Asks the sandbox on its operator listener. @throws CommandError when it does not run or refuses */
export async function askSandbox<Data>({ directory, path: route, body, signal }: SandboxRequest): Promise<Data> {
  const description = await findDescription(directory);
  if (description === null) {
    throw new CommandError('error', `no sandbox has been started in ${path.resolve(directory)}`, { advice: START });
  }
  const { status, envelope } = await send(description, route, body, signal);
  if (envelope?.success === true) return envelope.data as Data;
  if (status === 401) {
    throw new CommandError('notLoggedIn', "the sandbox's token has expired", {
      advice: 'It is valid for 24 hours: stop the sandbox and start it again.',
    });
  }
  throw new CommandError('error', plain(envelope?.message ?? `the sandbox has answered HTTP ${status}`), {
    advice: status === 404 ? 'Is this a sandbox? A service in production has no such operation.' : undefined,
  });
}

interface Envelope {
  readonly success?: boolean;
  readonly message?: string;
  readonly data?: unknown;
}

async function send(
  { operator_url: url, feed }: SandboxDescription,
  route: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly envelope: Envelope | null }> {
  try {
    const response = await fetch(url + route, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${feed.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const envelope = (await response.json().catch(() => null)) as Envelope | null;
    return { status: response.status, envelope };
  } catch (cause) {
    signal.throwIfAborted();
    throw new CommandError('error', `the sandbox does not answer (${reasonOf(cause)})`, { advice: START, cause });
  }
}
