import { type Bank, bicOf } from '../../apps/server/src/domain/bank.ts';

const startMark = '<!-- banks:start -->\n';
const endMark = '<!-- banks:end -->\n';

/**
 * Replaces the table between the marks of the page and leaves the prose around it.
 * @throws Error when a mark is missing
 */
export function renderBanksPage(page: string, banks: readonly Bank[]): string {
  const start = page.indexOf(startMark);
  const end = page.indexOf(endMark);
  if (start === -1 || end < start) throw new Error('docs/banks.md lacks the marks around its table');
  return page.slice(0, start) + startMark + renderTable(banks) + page.slice(end);
}

function renderTable(banks: readonly Bank[]): string {
  const rows = banks.map((bank) => {
    const shortNames = bank.shortNames.join(', ');
    const digits = bank.accountNumberLength ?? '';
    return `| ${bank.clearingCode ?? ''} | ${bicOf(bank) ?? ''} | ${bank.name} | ${shortNames} | ${digits} |`;
  });
  return [
    `${banks.length} entries.`,
    '',
    '| clearing code | BIC | name | short names | account digits |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
