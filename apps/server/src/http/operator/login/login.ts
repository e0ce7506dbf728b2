import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { OpenIdProvider } from '../../../auth/openid-provider.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { countedAddress } from '../../../lib/counted-address.ts';
import type { Limiter } from '../../../rate-limit/limiter.ts';
import { ApiError, tooManyRequests } from '../../errors.ts';
import { loginRefused } from './begin-session.ts';
import { ANOTHER_LINK, linkLogin } from './link-login.ts';
import { LOGIN_PATH } from './login-form.ts';
import { type OidcLoginDependencies, oidcLogin } from './oidc-login.ts';

export interface LoginPagesDependencies extends Omit<OidcLoginDependencies, 'provider' | 'limitLogins'> {
  /** Null where none is set. */
  readonly provider: OpenIdProvider | null;
  /** Whether links log people in: in the sandbox only. */
  readonly hasLinks: boolean;
  /** Counts the requests of each address, over all processes. */
  readonly loginLimiter: Limiter;
}

/** In any 60 seconds and from one address. A login takes two, and an office may have one address. */
const LOGIN_REQUESTS_PER_MINUTE = 30;

/** The pages with which people log in. They are opened by a browser, and lead it on. */
export function loginPages(app: FastifyInstance, dependencies: LoginPagesDependencies): void {
  const { provider, hasLinks, loginLimiter, ...given } = dependencies;
  const limitLogins = async ({ ip }: FastifyRequest): Promise<void> => {
    const { admitted, resetMs } = await loginLimiter.take(countedAddress(ip), LOGIN_REQUESTS_PER_MINUTE);
    if (!admitted) throw tooManyRequests(resetMs, TOO_MANY_LOGINS);
  };
  const common = { ...given, limitLogins };
  if (hasLinks) linkLogin(app, common);
  if (provider !== null) {
    oidcLogin(app, { ...common, provider });
    return;
  }
  app.get(LOGIN_PATH, { schema: { hide: true }, onRequest: limitLogins }, () => {
    throw hasLinks ? loginRefused(NO_PROVIDER) : new ApiError('NOT_FOUND', { message: NO_LOGIN });
  });
}

const NO_PROVIDER = englishOnly(
  `The sandbox has no identity provider. Log in by the link that npm start printed, or make one with: ${ANOTHER_LINK}`,
);
const NO_LOGIN = englishOnly(
  'People cannot log in here: set TIBA_OPERATOR_OIDC_ISSUER and the settings beside it (docs/operating.md, "People")',
);
const TOO_MANY_LOGINS = englishOnly('Too many logins from this address: wait a minute, then log in again');
