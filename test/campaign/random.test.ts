import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Environment, openEnvironment } from '../../campaign/random/environment.ts';
import { createRecord } from '../../campaign/random/record.ts';
import { playRound } from '../../campaign/random/round.ts';
import { INHERITED } from '../support/suite-environment.ts';

/** The campaign in its shortest form: it works, kills the service, and finds nothing wrong. */

const SECONDS = 2;
/** It kills the service, and PostgreSQL, in that time. */
const FIXED_SEED = 3;

const REACHED = [
  'acknowledged status updates',
  'callbacks',
  'fuzzed requests',
  'kills of the service',
  'kills of PostgreSQL',
];

let environment: Environment;
before(async () => {
  environment = await openEnvironment();
});
after(() => environment?.close());

for (const seed of [FIXED_SEED, randomInt(2 ** 31)]) {
  test(`a round finds nothing wrong, seed ${seed}`, async (t) => {
    const record = createRecord();
    const signal = new AbortController().signal;
    await playRound({ seed, seconds: SECONDS, environment, record, signal });
    t.diagnostic(JSON.stringify(Object.fromEntries(record.counts)));
    assert.deepEqual(record.findings, []);
    // What a random round of two seconds reaches depends on its faults.
    const reached = seed === FIXED_SEED ? REACHED : ['acknowledged status updates', 'faults'];
    for (const name of reached) assert.ok((record.counts.get(name) ?? 0) > 0, name);
  });
}

test('the command says what is wrong with its arguments', () => {
  const main = fileURLToPath(new URL('../../campaign/main.ts', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [main, 'nothing'], { env: INHERITED, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stdout, /there is no part nothing: choose /);
});
