// Loaded before each test file of a run of all tests (check.ts): notes what the file costs. Most of a file's time is
// waiting for the processors, so its processor time shows where the suite can become faster.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { childrenMs } from './processor-time.ts';
import { COSTS_VARIABLE } from './suite-environment.ts';

/** What one test file cost. Children of children count where these were waited for. */
export interface FileCost {
  readonly file: string;
  readonly ownMs: number;
  readonly childrenMs: number;
}

const directory = process.env[COSTS_VARIABLE];
const [, file] = process.argv;

// Only the test runner's own children: a file may start others, which inherit the environment.
if (directory !== undefined && file !== undefined && process.env['NODE_TEST_CONTEXT'] === 'child-v8') {
  process.once('exit', () => {
    const { user, system } = process.cpuUsage();
    const cost: FileCost = { file, ownMs: Math.round((user + system) / 1000), childrenMs: childrenMs('self') };
    writeFileSync(path.join(directory, `${process.pid}.json`), JSON.stringify(cost));
  });
}
