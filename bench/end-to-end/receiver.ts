import type { BenchContext } from '../bench-context.ts';
import { type Child, startChild } from '../child.ts';
import type { Arrival, CallbackReceiverAddress, RequestCount } from '../processes/callback-receiver.ts';
import { commandSender } from './control.ts';

/** A client's receiver of callbacks: a process of its own, on the core of the load. */
export interface Receiver extends Pick<Child<CallbackReceiverAddress>, 'stop'> {
  readonly url: string;
  /** When each callback since the last call arrived, by webhook-id. */
  takeArrivals(): Promise<Map<string, number>>;
  count(): Promise<RequestCount>;
  /** From now on the receiver accepts requests and answers none. */
  pause(): Promise<void>;
  /** Answers the paused requests, and later ones at once. */
  resume(): Promise<void>;
}

export async function startReceiver(context: BenchContext): Promise<Receiver> {
  const { directory, signal } = context;
  signal.throwIfAborted();
  const settings = {};
  const child = await startChild<CallbackReceiverAddress>({
    file: 'callback-receiver.ts',
    settings,
    cores: null,
    directory,
  });
  context.closers.defer(child.stop);
  const send = commandSender(child.address.controlUrl, signal);
  return {
    url: `${child.address.url}/callbacks`,
    takeArrivals: async () => new Map(await send<Arrival[]>('takeArrivals')),
    count: () => send<RequestCount>('count'),
    pause: () => send('pause'),
    resume: () => send('resume'),
    stop: child.stop,
  };
}
