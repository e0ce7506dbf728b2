import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { SETTINGS } from '../../apps/server/src/config/config.ts';
import { httpStatusOf } from '../../apps/server/src/http/errors.ts';
import { LIMITED_OPERATIONS } from '../../apps/server/src/rate-limit/limiter.ts';
// Those of openapi.json: operators have codes of their own.
import { ERROR_CODES } from '../../packages/client/src/generated/api.ts';

/** docs/guides and docs/id/guides, against the code and against each other. pasted-commands.test.ts runs them. */

const FOLDERS = { English: 'docs/guides/', Indonesian: 'docs/id/guides/' } as const;
const read = (folder: string, guide: string): Promise<string> =>
  readFile(new URL(`../../${folder}${guide}`, import.meta.url), 'utf8');

/** The default of each limit on the page. */
const DEFAULTS: Readonly<Record<string, string>> = {
  'check-status': SETTINGS.checkStatusPerMinute.fallback,
  'check-account': SETTINGS.checkAccountPerMinute.fallback,
  events: SETTINGS.eventsPerMinute.fallback,
  callbacks: SETTINGS.callbacksPerMinute.fallback,
  banks: SETTINGS.banksPerMinute.fallback,
  'account-validations': SETTINGS.accountValidationsPerMinute.fallback,
  transactions: SETTINGS.transactionsPerMinute.fallback,
  'account-checks': SETTINGS.accountChecksPerMinute.fallback,
  'accounts-per-day': SETTINGS.accountsPerDay.fallback,
};

for (const [language, folder] of Object.entries(FOLDERS)) {
  suite(`the guides in ${language}`, () => {
    test('errors.md says for each code of the API which HTTP status it has and what to do', async () => {
      const page = await read(folder, 'errors.md');
      const [, ...sections] = page.split(/^### (?=`[A-Z_]+`$)/m);
      const rows = sections.map(
        (section) => /^`([A-Z_]+)`\n\n- (\d{3})[^:]*: ([^]+?)\n- \*\*[^*:]+:\*\* ([^]+?)\n\n/.exec(section) ?? [],
      );
      assert.deepEqual(
        rows.map(([, code = '', status = '']) => `${code} ${status}`).sort(),
        ERROR_CODES.map((code) => `${code} ${httpStatusOf(code)}`).sort(),
      );
      for (const [row, , , when = '', action = ''] of rows) assert.ok(when.length > 5 && action.length > 5, row);
    });

    test('limits.md has each limit with its default, which the site replaces by that of the service', async () => {
      const page = await read(folder, 'limits.md');
      const shown = [...page.matchAll(/<span data-limit="([a-z-]+)">([\d.,]+)<\/span>/g)];
      assert.deepEqual(
        Object.fromEntries(shown.map(([, limit = '', number = '']) => [limit, number.replaceAll(/[.,]/g, '')])),
        DEFAULTS,
      );
      assert.deepEqual(Object.keys(DEFAULTS).sort(), [...LIMITED_OPERATIONS, 'accounts-per-day'].sort());
    });
  });
}

/** What both languages have alike: code, samples, and names in tables. Links lead to other pages and sections. */
const alikeIn = (page: string): string[] => [
  ...[...page.matchAll(/^<!-- sample: .* -->$|^```[^]*?^```$/gm)].map(([text]) => text),
  ...[...page.matchAll(/^\| (`[^|]+`) \||^#+ (`.*`)$/gm)].map(([, cell = '', heading = '']) => cell + heading),
];

test('the Indonesian guides are the English ones: the same pages, commands, samples and codes', async () => {
  const guides = await readdir(new URL('../../docs/guides', import.meta.url));
  assert.deepEqual(await readdir(new URL('../../docs/id/guides', import.meta.url)), guides);
  for (const guide of guides) {
    const [english, indonesian] = await Promise.all([read(FOLDERS.English, guide), read(FOLDERS.Indonesian, guide)]);
    assert.deepEqual(alikeIn(indonesian), alikeIn(english), guide);
    const countOf = (page: string, pattern: RegExp): number => [...page.matchAll(pattern)].length;
    assert.equal(countOf(indonesian, /^#+ /gm), countOf(english, /^#+ /gm), `headings of ${guide}`);
  }
});
