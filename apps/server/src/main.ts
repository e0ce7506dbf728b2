import { manage } from './cli/manage.ts';
import { migrate } from './cli/migrate.ts';
import { sandbox } from './cli/sandbox.ts';
import { serve } from './cli/serve.ts';
import { ownProperty } from './lib/own-property.ts';
import { StartError } from './lib/start-error.ts';

/** `npm start`, `npm run serve`, `npm run migrate`, `npm run manage -- …`. */
const COMMANDS: Readonly<Record<string, (args: string[]) => Promise<void>>> = { sandbox, serve, manage, migrate };

const [name = '', ...args] = process.argv.slice(2);
const command = ownProperty(COMMANDS, name);

if (command === undefined) {
  fail(`Which command? Use one of: ${Object.keys(COMMANDS).join(', ')}`);
} else {
  // A StartError can be corrected by the person who starts Tiba, so its message is enough. Any other error is a defect,
  // and its stack shows where.
  await command(args).catch((error: unknown) => {
    fail(describe(error));
  });
}

function describe(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
