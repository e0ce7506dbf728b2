/** What the run of all tests (check.ts) tells each file. */

/** Which PostgreSQL to use. */
export const TEST_SERVER_VARIABLE = 'TIBA_TEST_POSTGRES';
/** RSA keys, a JSON array of PEMs: making one takes longer than most tests. */
export const RSA_KEYS_VARIABLE = 'TIBA_TEST_RSA_KEYS';

/** What a program that a test starts is given of this process's environment: none of its settings. */
export const INHERITED = {
  PATH: process.env['PATH'],
  // A module that one process has compiled, the next one finds compiled.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

const LOAD_FACTOR = process.env[TEST_SERVER_VARIABLE] === undefined ? 1 : 3;

/** A bound for how long something takes: as it is for a file that is run alone, three times that beside all others. */
export const timeLimitMs = (milliseconds: number): number => milliseconds * LOAD_FACTOR;
