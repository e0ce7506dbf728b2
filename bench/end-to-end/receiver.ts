import type { BenchContext } from '../bench-context.ts';
import { type Child, startChild } from '../child.ts';
import type { Arrival, CallbackReceiverAddress, Count } from '../processes/callback-receiver.ts';
import { tellAt } from './control.ts';

/** A client's receiver of callbacks: a process of its own, on the core of the load. */
export interface Receiver extends Pick<Child<CallbackReceiverAddress>, 'stop'> {
  readonly url: string;
  /** When what came since this was last asked has arrived, by webhook-id. */
  arrivals(): Promise<Map<string, number>>;
  count(): Promise<Count>;
  /** From now on it accepts and answers nothing. */
  hold(): Promise<void>;
  /** Answers what it has held back, and the rest at once. */
  release(): Promise<void>;
}

export async function startReceiver(stage: BenchContext): Promise<Receiver> {
  const { directory, signal } = stage;
  signal.throwIfAborted();
  const settings = {};
  const child = await startChild<CallbackReceiverAddress>({
    file: 'callback-receiver.ts',
    settings,
    cores: null,
    directory,
  });
  stage.closers.defer(child.stop);
  const tell = tellAt(child.address.controlUrl, signal);
  return {
    url: `${child.address.url}/callbacks`,
    arrivals: async () => new Map(await tell<Arrival[]>('arrivals')),
    count: () => tell<Count>('count'),
    hold: () => tell('hold'),
    release: () => tell('release'),
    stop: child.stop,
  };
}
