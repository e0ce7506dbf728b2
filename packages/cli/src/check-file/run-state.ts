import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { CommandError } from '../errors.ts';
import type { Part } from './plan.ts';
import { replaceFile } from './replace-file.ts';

/**
 * What a run must remember to go on after a power loss: which bulk validations it has created, under which keys. It is
 * on the disk before the first request, so a second start sends the same keys, and no account is checked twice.
 */
export interface RunState {
  readonly format: 1;
  readonly started_at: string;
  /** The service and the client ID: a validation belongs to them. */
  readonly service: string;
  readonly client_id: string;
  /** SHA-256 of the file, in hex. */
  readonly input_sha256: string;
  /** SHA-256 of what is sent, in hex: the same file with other options asks something else. */
  readonly accounts_sha256: string;
  /** Random: the same file next month is another run. */
  readonly run_id: string;
  readonly parts: readonly PartState[];
}

export interface PartState extends Part {
  /** Null until the service has answered. */
  readonly validation_id: string | null;
}

/** What a run is about. */
export type RunIdentity = Pick<RunState, 'service' | 'client_id' | 'input_sha256' | 'accounts_sha256'>;

export const stateFileOf = (output: string): string => `${output}.tiba-run.json`;

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** The same part of the same run always has the same key. */
export const idempotencyKeyOf = ({ run_id: run }: RunState, { first, count }: Part): string =>
  `tiba-check-file/${run}/${first}-${count}`;

export const newRun = (identity: RunIdentity, parts: readonly Part[]): RunState => ({
  format: 1,
  started_at: new Date().toISOString(),
  ...identity,
  run_id: randomUUID(),
  parts: parts.map((part) => ({ ...part, validation_id: null })),
});

export const saveRun = (file: string, state: RunState): Promise<void> =>
  replaceFile(file, [`${JSON.stringify(state, null, 2)}\n`]);

/** Null when no run was left unfinished. @throws CommandError when there is one that this one cannot continue */
export async function findRun(file: string, identity: RunIdentity): Promise<RunState | null> {
  const state = await readState(file);
  if (state === null) return null;
  const differences: readonly (readonly [isDifferent: boolean, what: string])[] = [
    [state.service !== identity.service, `the service ${state.service}`],
    [state.client_id !== identity.client_id, `the client ID ${state.client_id}`],
    [state.input_sha256 !== identity.input_sha256, 'another input, or one that was changed since'],
    [state.accounts_sha256 !== identity.accounts_sha256, 'the same input with other options'],
  ];
  const [, what] = differences.find(([isDifferent]) => isDifferent) ?? [];
  if (what === undefined) return state;
  throw new CommandError('usage', `an unfinished run of ${state.started_at} was for ${what}`, {
    advice: `Repeat that command, choose another -o, or check everything again with --start-over (${file}).`,
  });
}

async function readState(file: string): Promise<RunState | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  const state = parse(text);
  if (state?.format === 1 && Array.isArray(state.parts)) return state as RunState;
  throw new CommandError('error', `${file} is damaged, or of a newer version of this program`, {
    advice: 'Update the program, or check everything again with --start-over.',
  });
}

function parse(text: string): Partial<RunState> | null {
  try {
    return JSON.parse(text) as Partial<RunState> | null;
  } catch {
    return null;
  }
}

export const removeRun = (file: string): Promise<void> => rm(file, { force: true });
