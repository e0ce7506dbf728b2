/** Writes the table in docs/banks.md anew from the directory: `node test/generate-banks-page.ts`. */

import { readFile, writeFile } from 'node:fs/promises';
import { type Bank, createBankDirectory } from '../apps/server/src/domain/bank.ts';
import entries from '../apps/server/src/domain/banks.json' with { type: 'json' };

export const banksPageUrl = new URL('../docs/banks.md', import.meta.url);

const startMark = '<!-- banks:start -->\n';
const endMark = '<!-- banks:end -->\n';

/** The page with its table replaced; the prose around the marks stays as people wrote it. Throws when a mark is missing. */
export function renderBanksPage(page: string, banks: readonly Bank[]): string {
  const start = page.indexOf(startMark);
  const end = page.indexOf(endMark);
  if (start === -1 || end < start) throw new Error('docs/banks.md has lost the marks around its table');
  return page.slice(0, start) + startMark + renderTable(banks) + page.slice(end);
}

function renderTable(banks: readonly Bank[]): string {
  const rows = banks.map((bank) => {
    const shortNames = bank.shortNames.join(', ');
    const digits = bank.accountNumberLength ?? '';
    return `| ${bank.clearingCode} | ${bank.bic} | ${bank.name} | ${shortNames} | ${digits} |`;
  });
  return [
    `${banks.length} institutions.`,
    '',
    '| clearing code | BIC | name | short names | account digits |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

if (import.meta.main) {
  const page = await readFile(banksPageUrl, 'utf8');
  await writeFile(banksPageUrl, renderBanksPage(page, createBankDirectory(entries).list()));
}
