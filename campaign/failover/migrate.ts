import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { INHERITED } from '../../test/support/suite-environment.ts';

/** `npm run migrate` of the release with this main.ts. @throws Error when it fails */
export async function migrate(main: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(process.execPath, [main, 'migrate'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...INHERITED, ...settings },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`migrate ended with ${code}`);
}
