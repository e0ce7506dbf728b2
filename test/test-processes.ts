import path from 'node:path';

/**
 * Loading the service takes as much processor time as the tests of an ordinary file. So files of these folders share a
 * process, one after the other; all others have one of their own.
 */
const SHARING: ReadonlySet<string> = new Set([
  'account-checks',
  'account-validations',
  'archive',
  'auth',
  'bank',
  'bank-availability',
  'callbacks',
  'cli',
  'client',
  'config',
  'contract',
  'docs',
  'domain',
  'feed',
  'lib',
  'lists',
  'long-poll',
  'manage',
  'name-match',
  'observability',
  'openapi',
  'operator',
  'outbound',
  'personal-data',
  'postgres',
  'rails',
  'rate-limit',
  'restore',
  'secret-key',
  'secrets',
  'snap-clients',
  'staging',
  'status-inquiry',
  'tls',
  'valkey',
  'workers',
]);

/** Files of those folders that do not share: they measure their process, or change it for good. */
const ALONE = [
  'account-validations/uploads-hostile-text',
  'account-validations/uploads-hostile-workbooks',
  'account-validations/uploads-memory',
  'bank/notification-retries',
  'bank/schedule',
  'client/browser',
  'client/killed-service',
  'docs/served-site',
  'docs/site-in-browser',
  'feed/http',
  'feed/ndjson',
  'openapi/linters',
  'outbound/hostile-receivers',
  'rails/acmt-conformance',
  'rails/bi-fast-conformance',
  'rails/iso20022/bi-fast',
  'rails/snap-conformance',
  'rails/snap-conformance-providers',
  'rails/snap-conformance-state-banks',
  'rails/template/conformance',
  'rate-limit/sliding-window',
  'workers/metrics-collection',
];

/** These do not share either, and start first: what takes long and starts last runs when all others have ended. */
const LONGEST = [
  'embedded-postgres/embedded-postgres',
  'console/console',
  'docs/pasted-commands',
  'end-to-end/killed',
  'bench/bench',
  'docs/production-guide',
  'observability/unwritable-log',
  'deploy/restart-behind-proxies',
  'account-validations/killed',
  'feed/bulk',
  'cli/account-and-status',
  'account-checks/enumeration-service',
  'workers/several-processes',
  'campaign/random',
  'end-to-end/model',
  'sandbox/disbursement',
  'deploy/rolling-upgrade',
];

/** Few enough that the processes end at about the same time, and hold little memory of services that have ended. */
const FILES_OF_A_PROCESS = 10;

const nameOf = (file: string): string => path.relative('test', file).replace(/\.test\.ts$/, '');
const isLong = (file: string): boolean => LONGEST.includes(nameOf(file));

/**
 * Which test files run in which process, in the order in which the processes start. Paths are `test/…`.
 * @throws Error when a file that is named here does not exist
 */
export function planProcesses(files: readonly string[]): readonly (readonly string[])[] {
  const missing = [...ALONE, ...LONGEST].filter((name) => !files.map(nameOf).includes(name));
  if (missing.length > 0) throw new Error(`test/test-processes.ts names files that are gone: ${missing.join(', ')}`);
  const isShared = (file: string): boolean => {
    const name = nameOf(file);
    return SHARING.has(name.split(path.sep, 1)[0] ?? '') && !ALONE.includes(name) && !isLong(file);
  };
  const [sharing, alone] = [files.filter(isShared), files.filter((file) => !isShared(file))];
  const groups = Array.from({ length: Math.ceil(sharing.length / FILES_OF_A_PROCESS) }, (_, index) =>
    sharing.slice(index * FILES_OF_A_PROCESS, (index + 1) * FILES_OF_A_PROCESS),
  );
  return [
    ...alone.filter(isLong).map((file) => [file]),
    ...groups,
    ...alone.filter((file) => !isLong(file)).map((file) => [file]),
  ];
}
