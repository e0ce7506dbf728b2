import type { Settings } from '../config.ts';
import type { ClientLimit } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

type SnapOption = 'partner-id' | 'external-ids' | 'body-hash' | 'clock-skew' | 'add' | 'remove' | 'former-hours';

export type Options = Readonly<
  Partial<Record<'name' | 'scope' | 'algorithm' | 'secret' | ClientLimit | SnapOption, string>>
>;

/** One command of `npm run manage`. */
export interface Command {
  readonly options: readonly (keyof Options)[];
  /** Returns the text to print. `id` is empty for commands that do not concern one client. */
  readonly run: (database: Database, id: string, options: Options, settings: Settings) => Promise<string>;
}

export const clientNotFound = (id: string): UsageError =>
  new UsageError(`client ${id} does not exist: list them with client list`);
