import type { ErrorAnswer, ErrorForm } from '../../envelope.ts';
import { acceptsJson, preferredType } from '../../request-headers.ts';

/** Below it are pages that a browser opens, and no operations. */
export const LOGIN_PATH = '/operator/login';

/** The pages of the login answer a browser with a page that says what to do. Everything else is as before. */
export const loginErrorForm =
  (form: ErrorForm): ErrorForm =>
  (error, request) => {
    const answer = form(error, request);
    const isLogin = request?.route?.startsWith(LOGIN_PATH) === true;
    const accept = request?.headers.accept;
    const wantsPage = preferredType(accept, ['text/html']) !== null || (accept !== undefined && !acceptsJson(accept));
    return isLogin && wantsPage ? asPage(answer, error.message) : answer;
  };

/** Nothing is loaded, nothing runs, and no page embeds it. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
};

const asPage = (answer: ErrorAnswer, message: string): ErrorAnswer => ({
  ...answer,
  headers: { ...answer.headers, ...PAGE_HEADERS },
  body:
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n' +
    '<meta name="viewport" content="width=device-width">\n<title>Tiba: login failed</title>\n' +
    `<h1>You are not logged in</h1>\n<p>${escaped(message)}.</p>\n` +
    `<p><a href="${LOGIN_PATH}">Log in again</a></p>\n</html>\n`,
});

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
