import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts';
import { startTestValkey, type TestValkey } from '../support/valkey.ts';

/** Several instances of the service on one database and one Valkey. */
export interface SeveralProcesses {
  readonly services: readonly TestService[];
  readonly valkey: TestValkey;
  readonly database: TestDatabase;
  close(): Promise<void>;
}

export async function startSeveral(
  count: number,
  { settings, ...options }: Omit<TestServiceOptions, 'database'> = {},
  valkeyOptions: readonly string[] = [],
): Promise<SeveralProcesses> {
  const [database, valkey] = await Promise.all([createTestDatabase(), startTestValkey(valkeyOptions)]);
  const services: TestService[] = [];
  const close = async (): Promise<void> => {
    valkey.thaw();
    await Promise.all(services.map((service) => service.close()));
    await Promise.all([database.drop(), valkey.stop()]);
  };
  try {
    for (let index = 0; index < count; index += 1)
      services.push(await startTestService({ ...options, database, settings: { ...settings, valkeyUrl: valkey.url } }));
    return { services, valkey, database, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes `count` requests at full speed, spread over the services in turn, `inFlight` at a time. */
export async function spread<T>(
  services: readonly TestService[],
  { count, inFlight = 64 }: { readonly count: number; readonly inFlight?: number },
  request: (service: TestService, index: number) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      answers.push(await request(services[index % services.length] as TestService, index));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return answers;
}
