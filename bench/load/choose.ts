import type { LoadName } from '../options.ts';
import { autocannonLoad } from './autocannon.ts';
import type { Load } from './load.ts';
import { findWrk } from './wrk.ts';

/** @throws Error when wrk is asked for and not installed. */
export async function chooseLoad(name: LoadName | null): Promise<Load> {
  if (name === 'autocannon') return autocannonLoad();
  const wrk = await findWrk();
  if (wrk !== null) return wrk;
  if (name === 'wrk') throw new Error('wrk is not installed');
  return autocannonLoad();
}
