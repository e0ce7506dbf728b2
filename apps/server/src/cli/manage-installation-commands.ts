import { storeCancellation } from '../account-validations/validation-writes.ts';
import { StartError } from '../lib/start-error.ts';
import { listRunningValidations } from '../postgres/account-validations.ts';
import type { Database } from '../postgres/database.ts';
import { findInstallationKey } from '../postgres/installation-key.ts';
import { verifyOperatorActions } from '../postgres/operator-actions.ts';
import { listProcesses } from '../postgres/processes.ts';
import { RECORD_RESTORE_TIMEOUT_MS, recordRestore } from '../postgres/restores.ts';
import { countSecretsByKey } from '../postgres/sealed-secrets.ts';
import { type Command, type CommandResult, UsageError } from './manage-command.ts';

const CANCEL_BATCH_MAX = 100;

/** What the operator does to the whole installation. */
export const INSTALLATION_COMMANDS: Readonly<Record<string, Command>> = {
  'secret-key': {
    summary: 'show how far the replacement of TIBA_SECRET_KEY is',
    options: [],
    readOnly: true,
    run: describeSecretKey,
  },

  'audit verify': {
    summary: 'check that the record of what operators did is whole',
    options: [],
    readOnly: true,
    run: verifyAudit,
  },

  restored: {
    summary: 'after a backup was restored, before the service starts: number events anew',
    description: 'Readers beyond the backup are told, and all tokens are revoked. It says what to do next.',
    options: [],
    timeoutMs: RECORD_RESTORE_TIMEOUT_MS,
    async run(database) {
      await requireNoProcesses(database);
      const { epoch, clients, restoredTo } = await recordRestore(database);
      const cancelled = await cancelRunningValidations(database);
      return {
        document: { epoch, clients, cancelled_validations: cancelled, restored_to: restoredTo?.toISOString() ?? null },
        text: `${describeRestore({ epoch, clients, cancelled })}\n\n${nextSteps(restoredTo)}`,
      };
    },
  },
};

/** Whether the record of what operators did is whole (docs/operating.md, "Actions of operators"). */
async function verifyAudit(database: Database): Promise<CommandResult> {
  const { records, faults, lastHash } = await verifyOperatorActions(database);
  if (faults.length === 0) {
    return {
      document: { records, last_hash: lastHash },
      text: `${records} records of actions are whole. The last one has the hash ${lastHash}.`,
    };
  }
  throw new StartError(
    `The record of operators' actions was changed: ${faults.join('; ')}. Compare it with your exports, and find out ` +
      'who can write to the database as its owner.',
  );
}

/** How far the replacement of TIBA_SECRET_KEY is (docs/operating.md, "Replace the secret key"). */
async function describeSecretKey(database: Database): Promise<CommandResult> {
  const key = await findInstallationKey(database);
  if (key === null) return { document: { key_id: null }, text: 'No service has used this database yet.' };
  const counts = await countSecretsByKey(database);
  const processes = await listProcesses(database);
  const others = [...counts].filter(([keyId]) => keyId !== key.secretKeyId);
  const waiting = processes.filter(({ secretKeyId }) => secretKeyId !== key.secretKeyId);
  const isComplete = others.length + waiting.length === 0;
  const document = {
    key_id: key.secretKeyId,
    sealed: counts.get(key.secretKeyId) ?? 0,
    to_be_sealed_again: others.map(([keyId, secrets]) => ({ key_id: keyId, secrets })),
    processes: processes.map(({ hostName, pid, secretKeyId }) => ({ host: hostName, pid, key_id: secretKeyId })),
    is_complete: isComplete,
  };
  const text = [
    `Secrets are sealed with key ${key.secretKeyId} from now on: ${counts.get(key.secretKeyId) ?? 0} are.`,
    ...others.map(([keyId, secrets]) => `Sealed with key ${keyId}, and to be sealed again: ${secrets}.`),
    ...processes.map(({ hostName, pid, secretKeyId }) => `Process ${hostName} pid ${pid} has key ${secretKeyId}.`),
    isComplete
      ? 'No other key is needed: TIBA_SECRET_KEY_PREVIOUS can be removed.'
      : 'The key is being replaced: keep TIBA_SECRET_KEY_PREVIOUS until all processes have the same TIBA_SECRET_KEY ' +
        'and nothing is left to be sealed again.',
  ].join('\n');
  return { document, text };
}

/** Events that a process stores before the command would get numbers that clients have seen. */
async function requireNoProcesses(database: Database): Promise<void> {
  const processes = await listProcesses(database);
  if (processes.length === 0) return;
  const listed = processes.map(({ hostName, pid }) => `${hostName} pid ${pid}`).join(', ');
  throw new UsageError(
    `${processes.length} processes use this database (${listed}): stop them, wait 10 seconds, then repeat. ` +
      'Nothing was done.',
  );
}

/** Results of the lost time have numbers that their readers know. Continued, a validation would give them again. */
async function cancelRunningValidations(database: Database): Promise<number> {
  let cancelled = 0;
  for (;;) {
    const running = await listRunningValidations(database, CANCEL_BATCH_MAX);
    if (running.length === 0) return cancelled;
    for (const validation of running) await storeCancellation(database, validation);
    cancelled += running.length;
  }
}

const describeRestore = (done: { epoch: number; clients: number; cancelled: number }): string =>
  [
    `This database is marked as restored (epoch ${done.epoch}).`,
    `- Events of ${done.clients} clients go on with new numbers. A reader beyond the backup gets 410 CURSOR_GONE.`,
    '- All access tokens are revoked: clients log in again. So do people, and they propose again what was pending.',
    `- Bulk validations that were running are cancelled: ${done.cancelled}.`,
  ].join('\n');

const nextSteps = (restoredTo: Date | null): string => {
  const time = restoredTo === null ? 'the time of the backup' : restoredTo.toISOString();
  return [
    `The database holds what happened up to ${time}. Next:`,
    '1. Repeat what you changed since then: clients, scopes, secrets, keys, and each person erase.',
    '2. Start the service with TIBA_PAUSED=yes. It calls no receiver and asks no bank.',
    `3. Feed all status updates again, from a minute before ${time}.`,
    '4. Start the service without TIBA_PAUSED. Callbacks that were pending at that time are sent again, with the same',
    '   webhook-id; changes that you fed again are sent with a new one.',
  ].join('\n');
};
