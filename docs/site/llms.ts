import { linesOfProse, titleOf } from './anchors.ts';

/** llms.txt (llmstxt.org): the pages of the site as Markdown, for programs that read. */

export interface LlmsSection {
  readonly title: string;
  readonly pages: readonly { readonly address: string; readonly text: string }[];
}

export const renderLlms = (sections: readonly LlmsSection[]): string =>
  [
    '# Tiba',
    '',
    '> Tiba answers two questions about a disbursement, a payment to a bank account: can it arrive (the account is',
    '> checked at the bank before), and has it arrived (the status is known after). Clients call its HTTP API.',
    ...sections.flatMap(({ title, pages }) => [
      '',
      `## ${title}`,
      '',
      ...pages.map(({ address, text }) => `- [${titleOf(text)}](${address}): ${firstSentenceOf(text)}`),
    ]),
    '',
  ].join('\n');

/** The first sentence of a page's prose, without links. */
function firstSentenceOf(page: string): string {
  const prose = linesOfProse(page).join('\n');
  // Not a table, and not the link to the other language.
  const isProse = (each: string): boolean => /^[A-Z`[]/.test(each) && !/^\[[^\]]*\]\([^)]*\)$/.test(each);
  const paragraphs = prose.split(/\n{2,}/).map((each) => each.trim());
  const paragraph = paragraphs.find(isProse) ?? '';
  const plain = paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/\s+/g, ' ');
  return /^.*?\.(?= |$)/.exec(plain)?.[0] ?? plain;
}
