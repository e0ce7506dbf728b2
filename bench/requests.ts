import type { BenchDatabase } from './database/databases.ts';
import { REFERENCE_ID, TRANSACTION_ID } from './database/prototypes.ts';
import { NUMBER, NUMBER_DIGITS, type Requests } from './load/load.ts';
import type { Service } from './services.ts';

export const CHECK_STATUS_PATH = `/api/v1/check-status/${TRANSACTION_ID}`;

/** Requests random transactions among all, as the client that owns them. */
export const checkStatusRequests = (origin: string, token: string, database: BenchDatabase): Requests => ({
  origin,
  method: 'GET',
  path: CHECK_STATUS_PATH,
  headers: headers(token),
  body: '',
  numbers: { order: 'random', below: database.rows },
});

/** The same by reference ID, of which clients encode the slashes. */
export const checkStatusByReferenceRequests = (origin: string, token: string, database: BenchDatabase): Requests => ({
  ...checkStatusRequests(origin, token, database),
  path: `/api/v1/check-status?reference_id=${REFERENCE_ID.replaceAll('/', '%2F')}`,
});

/** As many as a batch may hold. */
const BATCH_IDS = 100;

/** Requests batches of 100 transactions: 99 spread over the table, the same each time, and one at random. */
export function checkStatusBatchRequests(origin: string, token: string, database: BenchDatabase): Requests {
  const fixed = Array.from({ length: BATCH_IDS - 1 }, (_, index) => {
    const number = Math.floor((index * database.rows) / BATCH_IDS);
    return TRANSACTION_ID.replace(NUMBER, String(number).padStart(NUMBER_DIGITS, '0'));
  });
  return {
    origin,
    method: 'POST',
    path: '/api/v1/check-status/batch',
    headers: { ...headers(token), 'Content-Type': 'application/json' },
    body: JSON.stringify({ ids: [...fixed, TRANSACTION_ID] }),
    numbers: { order: 'random', below: database.rows },
  };
}

/** Checks accounts that are all different, so that every response needs an inquiry to the bank. */
export const checkAccountRequests = ({ address }: Service): Requests => ({
  origin: address.publicUrl,
  method: 'POST',
  path: '/api/v1/check-account',
  headers: { ...headers(address.token), 'Content-Type': 'application/json' },
  // The last digits avoid the endings for which the simulated bank injects faults (docs/simulated-bank.md). They also
  // keep the numbers so far apart that the enumeration guard does not take them for sequential ones.
  body: `{"bank_code":"009","account_number":"${NUMBER}1117"}`,
  numbers: { order: 'counting' },
});

export const headers = (token: string): Record<string, string> => ({
  Authorization: `Bearer ${token}`,
  Accept: 'application/json',
});
