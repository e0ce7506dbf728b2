import type { BenchContext } from '../bench-context.ts';
import { type Service, startService } from '../services.ts';
import { createWords, type Words } from './feed-lines.ts';
import { createFeeder, type Feeder } from './feeder.ts';
import { makeLivedInDatabase } from './lived-in.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A service with a database of its own, and the core that feeds it. */
export interface Subject {
  readonly service: Service;
  readonly connectionString: string;
  readonly feeder: Feeder;
  readonly words: Words;
}

export interface CallbackSubject extends Subject {
  /** The healthy one, whose callbacks are measured. */
  readonly receiver: Receiver;
  /** So many events are owed to it so far. */
  owed: number;
  stop(): Promise<void>;
}

export interface SubjectOptions {
  /** Its database's too. */
  readonly name: string;
  /** How many transactions there are before. */
  readonly past: number;
}

export async function startSubject(stage: BenchContext, { name, past }: SubjectOptions): Promise<Subject> {
  const database = await makeLivedInDatabase(stage, `bench_${name}`, past);
  const service = await startService(stage, { name, database });
  const feeder = createFeeder(service, stage.signal);
  stage.closers.defer(feeder.close);
  return { service, connectionString: database.connectionString, feeder, words: createWords(past) };
}

/** With an endpoint whose receiver answers, and if wanted another, owed the same, whose receiver does too, or never does. */
export async function startCallbackSubject(
  stage: BenchContext,
  options: SubjectOptions & { readonly other: 'none' | 'answers' | 'hangs' },
): Promise<CallbackSubject> {
  const subject = await startSubject(stage, options);
  const receiver = await startReceiver(stage);
  await register(subject.service, receiver);
  const other = options.other === 'none' ? null : await startReceiver(stage);
  if (other !== null) {
    if (options.other === 'hangs') await other.hold();
    await register(subject.service, other);
  }
  return {
    ...subject,
    receiver,
    owed: 0,
    async stop() {
      // What is in flight fails at once, and the service need not wait for it.
      await other?.stop();
      await receiver.stop();
      await subject.service.stop();
    },
  };
}

async function register({ address }: Service, { url }: Receiver): Promise<void> {
  const response = await fetch(`${address.publicUrl}/api/v1/callback-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${address.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  });
  if (response.status !== 201) throw new Error(`the endpoint was not registered: ${await response.text()}`);
}
