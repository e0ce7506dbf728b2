import pino from 'pino';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Caller, createCaller } from './caller.ts';
import { type ClientReceiver, startClientReceiver } from './client-receiver.ts';
import { createKillableService, type KillableService } from './killable-service.ts';
import type { BankAnswer, ServiceSettings } from './messages.ts';

/** A service that can be killed, and its environment: PostgreSQL, the core, banks, a receiver of callbacks. */
export interface EndToEndContext {
  readonly service: KillableService;
  /** The service's database, for what a test inspects, or makes due, by itself. */
  readonly database: Database;
  readonly core: Caller;
  readonly receiver: ClientReceiver;
  /** The banks' answers to a status inquiry, by the transfer's reference; others get `defaultAnswer`. */
  readonly banks: Map<string, () => BankAnswer | Promise<BankAnswer>>;
  close(): Promise<void>;
}

/** Starts everything, and the service for the first time. */
export async function createContext(
  settings: Omit<ServiceSettings, 'connectionString'>,
  defaultAnswer: (reference: string) => BankAnswer,
): Promise<EndToEndContext> {
  const { connection, drop } = await createTestDatabase();
  const closers: (() => Promise<void>)[] = [drop];
  async function close(): Promise<void> {
    for (const closer of closers.toReversed()) await closer();
  }

  try {
    const database = openDatabase({ connection, connectionsMax: 4, log: pino({ level: 'silent' }) });
    closers.push(database.close);
    const banks: EndToEndContext['banks'] = new Map();
    const service = await createKillableService(
      { connectionString: connection.connectionString ?? '', ...settings },
      (reference) => banks.get(reference)?.() ?? defaultAnswer(reference),
    );
    closers.push(service.close);
    const receiver = await startClientReceiver();
    closers.push(receiver.close);
    await service.start();
    return {
      service,
      database,
      banks,
      receiver,
      core: await createCaller(service, database, 'core', ['feed:write']),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
