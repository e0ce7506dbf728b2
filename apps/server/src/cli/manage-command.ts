import type { FourEyesKind } from '../auth/four-eyes.ts';
import type { Settings } from '../config/config.ts';
import type { ClientLimit } from '../postgres/clients.ts';
import type { Database } from '../postgres/database.ts';
import type { Actor } from '../postgres/operator-actions.ts';

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

type SnapOption = 'partner-id' | 'external-ids' | 'body-hash' | 'clock-skew' | 'add' | 'remove' | 'former-hours';

type SessionOption = 'without-approval' | 'person' | 'session' | 'role';

type ArchiveOption = 'client' | 'month' | 'hold-hours' | 'account' | 'bank' | 'dry-run';

type OptionName =
  | 'name'
  | 'scope'
  | 'algorithm'
  | 'secret'
  | 'reason'
  | ClientLimit
  | SnapOption
  | SessionOption
  | ArchiveOption;

export type Options = Readonly<Partial<Record<OptionName, string>>>;

/** For a command that takes minutes, or whose result programs read. */
export interface CommandContext {
  readonly actor: Actor;
  /** Prints a line for people to stderr. */
  readonly print: (line: string) => void;
}

/** What a command has done or found. */
export interface CommandResult {
  /** With `--json`: one document, whose fields have the names of the operator listener. */
  readonly document: unknown;
  /** Otherwise: text for people. Nothing is printed when it is empty. */
  readonly text: string;
  /** What is recorded of a change that is in no client, key or restore; null when nothing was changed. */
  readonly change?: {
    readonly subjectId: string;
    readonly before: string | null;
    readonly after: string | null;
  } | null;
}

/** One command of `npm run manage`. Commands of `client`, but for `client list`, take the ID of a client. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** What else a person should know before it is run. */
  readonly description?: string;
  readonly options: readonly (keyof Options)[];
  /** What four eyes are for (TIBA_FOUR_EYES): the command then needs `--without-approval`. */
  readonly fourEyes?: (options: Options) => readonly FourEyesKind[];
  /** Whether it must have `--reason`, as over the operator API. */
  readonly needsReason?: true;
  /** Whether it only reads. What other commands change is recorded, with `--reason`. */
  readonly readOnly?: true;
  /**
   * It takes too long for one database transaction, and records what it did itself (postgres/operator-actions.ts). When
   * it was stopped and is repeated, it goes on.
   */
  readonly recordsItself?: true;
  /** For a command whose database transaction takes longer than others may. */
  readonly timeoutMs?: number;
  /** `id` is empty for commands that do not concern one client. */
  readonly run: (
    database: Database,
    id: string,
    options: Options,
    settings: Settings,
    context: CommandContext,
  ) => Promise<CommandResult>;
}

export const clientNotFound = (id: string): UsageError =>
  new UsageError(`client ${id} does not exist: list them with client list`);
