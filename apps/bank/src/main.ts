// The simulated bank as a process: settings from the environment, start, stop.
// A parent that forks it gets `{ type: 'ready', baseUrl }` over IPC; a parent that dies takes the bank with it.

import { type RunningBank, startBank } from './server.ts';
import { type BankSettings, readSettings } from './settings.ts';
import { JournalError } from './transfers/journal.ts';

const result = readSettings();
if ('faults' in result) {
  reportFaults(result.faults);
} else {
  await run(result.settings);
}

async function run(settings: BankSettings): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, () => stop.resolve());
  // A parent that was killed while this file was being loaded has disconnected before anybody listened.
  if (process.send !== undefined && !process.connected) return;
  const bank = await start(settings);
  if (bank !== null) {
    reportReady(bank.baseUrl);
    await stop.promise;
    await bank.close();
  }
  // An open channel to the parent would keep this process alive.
  if (process.connected) process.disconnect?.();
}

async function start(settings: BankSettings): Promise<RunningBank | null> {
  try {
    return await startBank(settings);
  } catch (error) {
    if (error instanceof JournalError) {
      reportFaults([error.message]);
      return null;
    }
    const reason = error instanceof Error ? error.message : String(error);
    reportFaults([`The simulated bank cannot listen on BANK_HOST and BANK_PORT: ${reason}.`]);
    return null;
  }
}

function reportReady(baseUrl: string): void {
  if (process.send === undefined) {
    process.stdout.write(`The simulated bank listens on ${baseUrl}\n`);
    return;
  }
  // A parent that left in this moment makes sending fail; its leaving ends the bank anyway.
  process.send({ type: 'ready', baseUrl }, undefined, undefined, () => {});
}

function reportFaults(faults: readonly string[]): void {
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
}
