import type { Command } from 'commander';
import type { Start } from '../session.ts';

type Add = (program: Command, start: Start) => void;

/** Every command with its file, in the order of the help. */
const COMMANDS: ReadonlyMap<string, () => Promise<Add>> = new Map([
  ['status', async () => (await import('./status.ts')).addStatus],
  ['check', async () => (await import('./check.ts')).addCheck],
  ['check-file', async () => (await import('./check-file.ts')).addCheckFile],
  ['list', async () => (await import('./list.ts')).addList],
  ['banks', async () => (await import('./banks.ts')).addBanks],
  ['events', async () => (await import('./events.ts')).addEvents],
  ['listen', async () => (await import('./listen.ts')).addListen],
  ['callbacks', async () => (await import('./callbacks.ts')).addCallbacks],
  ['doctor', async () => (await import('./doctor.ts')).addDoctor],
  ['login', async () => (await import('./login.ts')).addLogin],
  ['logout', async () => (await import('./logout.ts')).addLogout],
  ['profiles', async () => (await import('./profiles.ts')).addProfiles],
  ['sandbox', async () => (await import('./sandbox.ts')).addSandbox],
  ['completion', async () => (await import('./completion.ts')).addCompletion],
]);

/**
 * Adds the command that `name` is; all of them where it is none, such as for the help. A person waits for the first
 * output of a command, and should not wait for the files of the others.
 */
export async function addCommands(program: Command, start: Start, name: string | undefined): Promise<void> {
  const named = COMMANDS.get(name ?? '');
  const loading = named === undefined ? [...COMMANDS.values()] : [named];
  for (const add of await Promise.all(loading.map((load) => load()))) add(program, start);
}
