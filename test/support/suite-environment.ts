/** The environment variables that a run of all tests (check.ts) sets for each test file. */

/** The connection string of the PostgreSQL to use. */
export const TEST_SERVER_VARIABLE = 'TIBA_TEST_POSTGRES';
/** RSA keys, a JSON array of PEMs: making one takes longer than most tests. */
export const RSA_KEYS_VARIABLE = 'TIBA_TEST_RSA_KEYS';
/** The directory where each test file notes what it cost (run-files.ts). */
export const COSTS_VARIABLE = 'TIBA_TEST_COSTS';

/** The part of this process's environment that a child process of a test gets: none of Tiba's settings. */
export const INHERITED = {
  PATH: process.env['PATH'],
  // The compile cache: a module that one process has compiled is not compiled again by the next.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

/** How many requests a test of random requests sends: `RANDOM_REQUESTS` (CONTRIBUTING.md), or as many as given. */
export const randomRequests = (otherwise: number): number => Number(process.env['RANDOM_REQUESTS'] ?? otherwise);

const LOAD_FACTOR = process.env[TEST_SERVER_VARIABLE] === undefined ? 1 : 3;

/** A limit for a duration: as given for a file that is run alone, three times that in a run of all tests. */
export const timeLimitMs = (milliseconds: number): number => milliseconds * LOAD_FACTOR;
