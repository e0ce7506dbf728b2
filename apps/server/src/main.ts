import { ownProperty } from './lib/own-property.ts';
import { StartError } from './lib/start-error.ts';

type Command = (args: string[]) => Promise<void>;

/**
 * `npm start`, `npm run serve`, `npm run migrate`, `npm run manage -- …`. Only the files of one command are loaded:
 * `manage` does not need the service.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  sandbox: async () => (await import('./cli/sandbox.ts')).sandbox,
  serve: async () => (await import('./cli/serve.ts')).serve,
  manage: async () => (await import('./cli/manage.ts')).manage,
  migrate: async () => (await import('./cli/migrate.ts')).migrate,
};

const [name = '', ...args] = process.argv.slice(2);
const loadCommand = ownProperty(COMMANDS, name);

if (loadCommand === undefined) {
  fail(`Which command? Use one of: ${Object.keys(COMMANDS).join(', ')}`);
} else {
  // A StartError can be corrected by the person who starts Tiba, so its message is enough. Any other error is a defect,
  // and its stack shows where.
  try {
    const command = await loadCommand();
    await command(args);
  } catch (error) {
    fail(describe(error));
  }
}

function describe(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
