import assert from 'node:assert/strict';
import { assertSuccess } from '../contract/assertions.ts';
import type { Answer, RequestOptions, TestService } from '../support/service.ts';

export const TRANSACTIONS = '/api/v1/transactions';
export const ACCOUNT_CHECKS = '/api/v1/account-checks';

export type Parameters = Readonly<Partial<Record<string, string>>>;

export const targetOf = (path: string, parameters: Parameters): string =>
  `${path}?${new URLSearchParams(parameters as Record<string, string>).toString()}`;

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  /** The target of the link to the next page. */
  readonly link: string | null;
}

/** Reads the page of an answer: the cursor in the body and the link must agree. */
export function pageOf<Item>(answer: Answer, name: 'transactions' | 'account_checks'): Page<Item> {
  const data = assertSuccess(answer);
  assert.deepEqual(Object.keys(data), [name, 'next_cursor', 'has_more']);
  const nextCursor = data['next_cursor'] as string | null;
  assert.equal(data['has_more'], nextCursor !== null);
  const header = answer.headers.get('link');
  const link = header === null ? null : (/^<([^<>]+)>; rel="next"$/.exec(header)?.[1] ?? assert.fail(header));
  assert.equal(link === null ? null : new URLSearchParams(link.split('?')[1]).get('cursor'), nextCursor);
  return { items: data[name] as Item[], nextCursor, link };
}

export interface ListedTransaction {
  readonly transaction_id: string;
  readonly status: string;
}

/** All transactions of the list, page by page, over the links. */
export async function walk(
  service: TestService,
  parameters: Parameters,
  options: RequestOptions & { readonly onPage?: (page: Page<ListedTransaction>) => Promise<void> } = {},
): Promise<ListedTransaction[]> {
  const all: ListedTransaction[] = [];
  let target: string | null = targetOf(TRANSACTIONS, parameters);
  while (target !== null) {
    const page: Page<ListedTransaction> = pageOf(await service.get(target, options), 'transactions');
    all.push(...page.items);
    target = page.link;
    await options.onPage?.(page);
  }
  return all;
}
