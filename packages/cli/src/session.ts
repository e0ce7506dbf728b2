import type { Command } from 'commander';
import { type ChosenLogin, chooseLogin, exposureOf } from './configuration/profiles.ts';
import { type Connection, openConnection } from './connection.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { createOutput, type Output, type Streams } from './output/output.ts';

/** What one command works with. */
export interface Session {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadStream;
  /** `--profile`; null unless given. */
  readonly profileName: string | null;
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal;
  /** @throws CommandError with exit code 4 when there is no login */
  login(): ChosenLogin;
  /** A client with that login. */
  connect(): Promise<Connection>;
}

/** Runs a command and keeps its exit code. Each file in `commands/` calls it from its action. */
export type Start = (command: Command, run: (session: Session) => Promise<ExitCode> | ExitCode) => Promise<void>;

/** The options of every command. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly unmasked?: boolean;
  readonly profile?: string;
}

export function createSession(
  options: GlobalOptions,
  streams: Streams & { readonly stdin: NodeJS.ReadStream },
  signal: AbortSignal,
): Session {
  const environment = readEnvironment();
  const output = createOutput(streams, { json: options.json === true, unmasked: options.unmasked === true });
  const profileName = options.profile ?? null;
  function login(): ChosenLogin {
    const chosen = chooseLogin(environment, profileName);
    const exposure = chosen.source === 'profile' ? exposureOf(environment) : null;
    if (exposure !== null) output.note(`warning: ${exposure}`);
    return chosen;
  }
  return {
    output,
    environment,
    stdin: streams.stdin,
    profileName,
    signal,
    login,
    connect: () => openConnection(login()),
  };
}

/** The exit code of several answers: the one that a person must look at first. Without any answer it is no yes. */
export const worstOf = (codes: readonly ExitCode[]): ExitCode =>
  ([EXIT.error, EXIT.no, EXIT.open, EXIT.ok] as const).find((code) => codes.includes(code)) ?? EXIT.error;
