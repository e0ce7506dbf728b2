// The process of the simulated bank: reads settings from the environment, starts, and stops on a signal.
// A parent that forks it receives `{ type: 'ready', baseUrl }` over IPC. The bank stops when its parent exits.

import { CertificateError } from './certificates.ts';
import { type RunningBank, startBank } from './server.ts';
import { type BankSettings, readSettings } from './settings.ts';
import { JournalError } from './transfers/journal.ts';

const result = readSettings(undefined, process.argv.slice(2));
if ('faults' in result) {
  reportFaults(result.faults);
} else {
  await run(result.settings);
}

async function run(settings: BankSettings): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, () => stop.resolve());
  // A parent that was killed while this file was loading disconnected before the listener above existed.
  if (process.send !== undefined && !process.connected) return;
  const bank = await start(settings);
  if (bank !== null) {
    reportReady(bank);
    await stop.promise;
    await bank.close();
  }
  // An open IPC channel to the parent would keep this process alive.
  if (process.connected) process.disconnect?.();
}

async function start(settings: BankSettings): Promise<RunningBank | null> {
  try {
    return await startBank(settings);
  } catch (error) {
    if (error instanceof JournalError || error instanceof CertificateError) {
      reportFaults([error.message]);
      return null;
    }
    const reason = error instanceof Error ? error.message : String(error);
    reportFaults([`The simulated bank cannot listen on BANK_HOST and BANK_PORT: ${reason}.`]);
    return null;
  }
}

function reportReady({ baseUrl, authorityFile }: RunningBank): void {
  if (process.send === undefined) {
    process.stdout.write(`The simulated bank listens on ${baseUrl}\n`);
    if (authorityFile !== null) process.stdout.write(`Its certificate authority: ${authorityFile}\n`);
    return;
  }
  // Sending fails if the parent exits at this moment; the disconnect stops the bank anyway.
  process.send({ type: 'ready', baseUrl }, undefined, undefined, () => {});
}

function reportFaults(faults: readonly string[]): void {
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
}
