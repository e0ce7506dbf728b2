import type { FastifyInstance } from 'fastify';
import type { OpenIdProvider } from '../../../auth/openid-provider.ts';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { ApiError } from '../../errors.ts';
import { loginRefused } from './begin-session.ts';
import { ANOTHER_LINK, linkLogin } from './link-login.ts';
import { LOGIN_PATH } from './login-form.ts';
import { type OidcLoginDependencies, oidcLogin } from './oidc-login.ts';

export interface LoginPagesDependencies extends Omit<OidcLoginDependencies, 'provider'> {
  /** Null where none is set. */
  readonly provider: OpenIdProvider | null;
  /** Whether links log people in: in the sandbox only. */
  readonly hasLinks: boolean;
}

/** The pages with which people log in. They are opened by a browser, and lead it on. */
export function loginPages(app: FastifyInstance, { provider, hasLinks, ...common }: LoginPagesDependencies): void {
  if (hasLinks) linkLogin(app, common);
  if (provider !== null) {
    oidcLogin(app, { ...common, provider });
    return;
  }
  app.get(LOGIN_PATH, { schema: { hide: true } }, () => {
    throw hasLinks ? loginRefused(NO_PROVIDER) : new ApiError('NOT_FOUND', { message: NO_LOGIN });
  });
}

const NO_PROVIDER = englishOnly(
  `The sandbox has no identity provider. Log in by the link that npm start printed, or make one with: ${ANOTHER_LINK}`,
);
const NO_LOGIN = englishOnly(
  'People cannot log in here: set TIBA_OPERATOR_OIDC_ISSUER and the settings beside it (docs/operating.md, "People")',
);
