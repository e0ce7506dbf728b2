/**
 * `DATABASE_URL`: a connection URI as libpq has it (PostgreSQL's documentation, "Connection URIs"), with one or several
 * hosts: `postgresql://tiba:secret@db1:5432,db2:5432/tiba?target_session_attrs=read-write`.
 */
export interface DatabaseUrl {
  /** A URL with one host for each server, in the order given. */
  readonly urls: readonly string[];
  /** Which server to use. Null: the only one, whatever it is. */
  readonly sessionAttributes: SessionAttributes | null;
}

/** `target_session_attrs`. `primary` accepts one that is read-only by its settings, and no standby. */
const SESSION_ATTRIBUTES = ['read-write', 'primary'] as const;
export type SessionAttributes = (typeof SESSION_ATTRIBUTES)[number];

const PROTOCOLS: ReadonlySet<string> = new Set(['postgres:', 'postgresql:']);
/** Protocol, credentials, hosts, and the rest. */
const FORM = /^(\w+:\/\/)((?:[^/?#]*@)?)([^/?#]*)([^]*)$/;
const HOST_PARAMETERS = ['host', 'hostaddr', 'port'] as const;

/** @throws Error whose message completes "DATABASE_URL must be …"; it holds no part of the URL */
export function parseDatabaseUrl(value: string): DatabaseUrl {
  const [, protocol = '', credentials = '', hosts = '', rest = ''] = FORM.exec(value) ?? [];
  const urls = hosts.split(',').map((host) => protocol + credentials + host + rest);
  const parameters = parametersOf(urls[0] ?? '');
  const isSeveral = urls.length > 1;
  if (isSeveral && hosts.split(',').includes('')) throw new Error('a URL without an empty host between its commas');
  if (parameters === null || !urls.every((url) => PROTOCOLS.has(new URL(url).protocol)))
    throw new Error('an address that starts with postgres:// or postgresql://');
  const inParameters = HOST_PARAMETERS.find((name) => parameters.get(name)?.includes(','));
  if (inParameters !== undefined || (isSeveral && HOST_PARAMETERS.some((name) => parameters.has(name))))
    throw new Error('a URL with all its hosts before the path: postgresql://user@host1:5432,host2:5432/database');
  const attributes = parameters.get('target_session_attrs');
  if (attributes === null && !isSeveral) return { urls, sessionAttributes: null };
  const sessionAttributes = SESSION_ATTRIBUTES.find((each) => each === attributes);
  if (sessionAttributes !== undefined) return { urls, sessionAttributes };
  throw new Error(
    attributes === null
      ? 'a URL with target_session_attrs=read-write: of several hosts, only one accepts writes'
      : 'a URL with target_session_attrs=read-write or primary: Tiba writes, so no other server is of use',
  );
}

/** Null for what is no URL. */
function parametersOf(url: string): URLSearchParams | null {
  return URL.canParse(url) ? new URL(url).searchParams : null;
}

const PUBLIC_PARAMETERS: ReadonlySet<string> = new Set(['host', 'port', 'user', 'dbname', 'target_session_attrs']);

/** Without its secrets. A password can be in the parameters too, so only known harmless ones stay. */
export function describeDatabaseUrl(databaseUrl: string): string {
  const { urls } = parseDatabaseUrl(databaseUrl);
  const { protocol, username, pathname, searchParams } = new URL(urls[0] ?? '');
  const hosts = urls.map((url) => new URL(url).host).join(',');
  const parameters = new URLSearchParams([...searchParams].filter(([name]) => PUBLIC_PARAMETERS.has(name)));
  const search = parameters.size === 0 ? '' : `?${parameters.toString()}`;
  return `${protocol}//${username === '' ? '' : `${username}@`}${hosts}${pathname}${search}`;
}
