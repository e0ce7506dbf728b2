import { type Environment, fileVariable, type Setting } from './values.ts';

/** Variables of Tiba that are no settings of the service: of its command line, and of deploy/postgres/roles.sql. */
const OTHERS: ReadonlySet<string> = new Set([
  'TIBA_PROFILE',
  'TIBA_URL',
  'TIBA_URL_FILE',
  'TIBA_CLIENT_ID',
  'TIBA_CLIENT_ID_FILE',
  'TIBA_CLIENT_SECRET',
  'TIBA_CLIENT_SECRET_FILE',
  'TIBA_CALLBACK_SECRET',
  'TIBA_CALLBACK_SECRET_FILE',
  'TIBA_ALLOW_PLAIN_HTTP',
  'TIBA_OWNER_PASSWORD',
  'TIBA_SERVICE_PASSWORD',
]);
const OF_TESTS = 'TIBA_TEST_';
/** Kubernetes sets them for each Service of the namespace, such as TIBA_OPERATOR_SERVICE_HOST. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;
const SERVICE_LINK_URL = /^(?:tcp|udp|sctp):\/\//;

/** More than two slips are another name. */
const SLIPS_MAX = 2;

/** Variables that look like settings and are none, which are ignored: with the setting that is probably meant. */
export function findUnknownVariables(settings: readonly Setting<unknown>[], environment: Environment): string[] {
  const known = settings.flatMap((each) => (each.secret === true ? [each.name, fileVariable(each)] : [each.name]));
  const isUnknown = ([name, value = '']: [string, string | undefined]): boolean =>
    name.startsWith('TIBA_') &&
    value !== '' &&
    !(known.includes(name) || OTHERS.has(name) || name.startsWith(OF_TESTS)) &&
    !(SERVICE_LINK.test(name) || SERVICE_LINK_URL.test(value));
  return Object.entries(environment)
    .filter(isUnknown)
    .map(([name]) => {
      const [nearest] = known
        .map((each) => ({ each, slips: countSlips(name, each) }))
        .filter(({ slips }) => slips <= SLIPS_MAX)
        .sort((one, other) => one.slips - other.slips);
      return nearest === undefined ? name : `${name}: ${nearest.each} is probably meant`;
    });
}

/** How many characters must be inserted, removed or replaced to turn one name into the other (Levenshtein). */
function countSlips(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, character] of one.split('').entries()) {
    const next = [row + 1];
    for (const [column, expected] of other.split('').entries()) {
      const [replaced = 0, removed = 0] = previous.slice(column, column + 2);
      next.push(Math.min(replaced + (character === expected ? 0 : 1), removed + 1, (next[column] ?? 0) + 1));
    }
    previous = next;
  }
  return previous.at(-1) ?? 0;
}
