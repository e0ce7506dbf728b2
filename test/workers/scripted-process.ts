import { appendFileSync, statSync } from 'node:fs';
import type { ToParent, ToWorker } from '../../apps/server/src/workers/messages.ts';

// A worker that follows the script of the test. Its arguments: a file that counts the starts by its length, then what
// each start does; the last one is that of all later starts too.

/**
 * `serve` is ready and stays, `end` is ready and ends, `wait` is never ready, `ask` is ready when the parent has said
 * that it cannot answer a question that makes no sense.
 */
export type Step = 'serve' | 'end' | 'wait' | 'ask';

const [counter, ...steps] = process.argv.slice(2) as [string, ...Step[]];
appendFileSync(counter, '.');
const step = steps[Math.min(statSync(counter).size, steps.length) - 1];

const send = (message: ToParent, onSent: () => void = () => {}): void =>
  void process.send?.(message, undefined, undefined, onSent);

process.on('message', (message: ToWorker) => {
  if (message[0] === 'end') process.exit(0);
  if (message[0] === 'failed') send(['ready']);
  if (message[0] !== 'start') return;
  if (step === 'ask') process.send?.(['run', 7, 'decide', null, null]);
  if (step === 'serve') send(['ready']);
  if (step === 'end') send(['ready'], () => process.exit(3));
});
