import type { Scope } from '../../auth/scopes.ts';

/** The services of the SNAP listener: the route of each, below any prefix and one of the versions, and its code. */
export const SNAP_SERVICES = {
  accessToken: { route: '/v1.0/access-token/b2b', code: '73' },
  accountInquiryInternal: { route: '/v1.0/account-inquiry-internal', code: '15' },
  accountInquiryExternal: { route: '/v1.0/account-inquiry-external', code: '16' },
  transferStatus: { route: '/v1.0/transfer/status', code: '36' },
} as const;

/** What the services need: a token of this listener permits no more, whatever else its client may do. */
export const SNAP_SCOPES: readonly Scope[] = ['status:read', 'account:check'];

/** Banks use different versions in their paths. A client keeps the paths of its bank and changes the base URL only. */
const VERSIONS = ['/v1', '/v1.0', '/v1.1', '/v2.0'];
const VERSION = '/v1.0';

const ROUTES = Object.values(SNAP_SERVICES).map(({ route }) => route);
const CODES: ReadonlyMap<string | undefined, string> = new Map(
  Object.values(SNAP_SERVICES).map(({ route, code }) => [route, code]),
);

/** Of a request for none of the services. */
const NO_SERVICE = '00';

export const serviceCodeOf = (route: string | undefined): string => CODES.get(route) ?? NO_SERVICE;

/** The route of a request path, such as `/snap-service/v1/transfer/status`; the path itself where it leads to none. */
export const snapRouteOf = (url: string): string => splitUrl(url)?.route ?? url;

/** The part of a request path that begins with the version; the whole path where it leads to no service. */
export const pathFromVersion = (url: string): string => splitUrl(url)?.fromVersion ?? url;

function splitUrl(url: string): { readonly route: string; readonly fromVersion: string } | null {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  for (const route of ROUTES) {
    const pathAfterVersion = route.slice(VERSION.length);
    if (!path.endsWith(pathAfterVersion)) continue;
    const prefix = path.slice(0, -pathAfterVersion.length);
    const version = VERSIONS.find((each) => prefix.endsWith(each));
    if (version !== undefined) return { route, fromVersion: url.slice(prefix.length - version.length) };
  }
  return null;
}
