// A bank in this process that notifies a real HTTP listener.

import type { TestContext } from 'node:test';
import { createClock, startBankWithPartner } from './partner.ts';
import { type Reaction, startReceiver } from './receiver.ts';
import { pushClock } from './transfers.ts';

export const START = '2026-11-21T10:30:24+07:00';

/** Its clock stands still unless `now` is given: time passes by pushes. */
export async function setUp(context: TestContext, options: { react?: Reaction; now?: () => number } = {}) {
  const receiver = await startReceiver(options.react);
  context.after(() => receiver.close());
  const { bank, partner, close } = await startBankWithPartner(options.now ?? createClock(START).now, {
    notifyUrl: receiver.url,
  });
  context.after(() => close());
  await partner.authorise();
  return { receiver, partner, bank, push: (seconds: number) => pushClock(bank.baseUrl, seconds) };
}
