import { once } from 'node:events';
import { appendFileSync, existsSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { script } from '../../apps/server/src/valkey/place.ts';
import { DECIDE } from '../../apps/server/src/valkey/scripts.ts';
import type { ToWorker } from '../../apps/server/src/workers/messages.ts';
import { connectToParent } from '../../apps/server/src/workers/parent-link.ts';
import { eventually } from '../support/eventually.ts';

// A worker that follows the script of the test. Its arguments: a file that counts the starts by its length, then what
// each start does; the last one is that of all later starts too. It writes a line for each ping.

/**
 * `serve` is ready and stays, `end` is ready and ends, `hang` is ready and blocks its event loop, `wait` is never ready,
 * `ask` is ready when the parent has said that it cannot answer a question that makes no sense, `late` connects to the
 * parent when there is a file named like the counter with `.go`, and says how it ends. `listen` is ready when it
 * listens, and says at which port.
 */
export type Step = 'serve' | 'end' | 'hang' | 'wait' | 'ask' | 'late' | 'listen';

const [counter, ...steps] = process.argv.slice(2) as [string, ...Step[]];
appendFileSync(counter, '.');
const step = steps[Math.min(statSync(counter).size, steps.length) - 1];

if (step === 'late') {
  process.stdout.write('late\n');
  await eventually('the test goes on', () => existsSync(`${counter}.go`));
}
const link = await connectToParent();
void link.ended.then((order) => process.stdout.write(`${order}\n`, () => process.exit(0)));
process.on('message', (message: ToWorker) => {
  if (message[0] === 'ping') process.stdout.write('ping\n');
});
if (step === 'ask') {
  const limits = link.openLimits({ onReady() {}, onLost() {} });
  await limits.run(script(DECIDE), ['a key'], null as never).catch(() => link.ready());
}
if (step === 'serve') link.ready();
if (step === 'listen') {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`, link.ready);
}
if (step === 'end' || step === 'hang')
  process.send?.(['ready'], undefined, undefined, () => {
    if (step === 'end') process.exit(3);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
