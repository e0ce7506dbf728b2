import { once } from 'node:events';
import { flushCompileCache } from 'node:module';

export interface Started<Address> {
  readonly address: Address;
  close(): Promise<void>;
}

/** Lives as a child of the benchmark: takes settings, starts, says where it is, and ends when the parent lets go. */
export async function liveAsChild<Address>(start: (settings: unknown) => Promise<Started<Address>>): Promise<void> {
  const letGo = Promise.withResolvers<void>();
  process.once('disconnect', letGo.resolve);
  const [settings] = await once(process, 'message');
  const { address, close } = await start(settings);
  // For those that start next. At its end each of them would write everything again, over what another has written: a
  // disk can take seconds for that.
  flushCompileCache();
  // A parent that left in this moment makes sending fail; its leaving ends this process anyway.
  if (process.connected) process.send?.(address, undefined, undefined, () => {});
  else letGo.resolve();
  await letGo.promise;
  await close();
}
