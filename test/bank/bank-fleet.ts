// Processes of the bank that a test kills and starts again, and the folder with their journals. None is left behind.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rsaKeys } from '../support/rsa-keys.ts';
import { type ForkedBank, forkBank } from './bank-process.ts';
import { createPartner, type Partner, partnerSettings } from './partner.ts';

export function createBankProcesses() {
  const keys = rsaKeys();
  const folder = mkdtempSync(path.join(tmpdir(), 'tiba-bank-'));
  const started: number[] = [];

  function track(pid: number | undefined): void {
    if (pid !== undefined) started.push(pid);
  }

  /** A partner with a token. */
  async function connectPartner(baseUrl: string): Promise<Partner> {
    const partner = createPartner(baseUrl, partnerSettings(keys), keys);
    await partner.authorize();
    return partner;
  }

  return {
    keys,
    connectPartner,
    track,
    pathOf: (file: string) => path.join(folder, file),
    async start(changes: NodeJS.ProcessEnv): Promise<ForkedBank & { partner: Partner }> {
      const bank = await forkBank(keys, changes);
      track(bank.child.pid);
      return { ...bank, partner: await connectPartner(bank.baseUrl) };
    },
    async kill({ child }: ForkedBank): Promise<void> {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    endAll(): void {
      for (const pid of started) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended, as it should.
        }
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
