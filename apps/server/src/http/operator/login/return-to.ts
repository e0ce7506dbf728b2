import { englishOnly } from '../../../lib/bilingual-text.ts';
import { invalidRequest } from '../../query-parameters.ts';

const DEFAULT = '/console/';
/** Any origin: the path must stay on it. */
const BASE = 'http://listener.invalid';
const LENGTH_MAX = 2_048;

/**
 * The page that a login leads back to. Only pages of the console: a link could otherwise lead a person, freshly logged
 * in, to a page of a stranger (CWE-601).
 * @throws ApiError INVALID_REQUEST
 */
export function returnPath(text: string | undefined): string {
  if (text === undefined) return DEFAULT;
  const url = text.length <= LENGTH_MAX && URL.canParse(text, BASE) ? new URL(text, BASE) : null;
  if (url === null || url.origin !== BASE || !text.startsWith(DEFAULT) || !url.pathname.startsWith(DEFAULT)) {
    throw invalidRequest(englishOnly(`return_to must be a path that begins with ${DEFAULT}`));
  }
  return `${url.pathname}${url.search}${url.hash}`;
}
