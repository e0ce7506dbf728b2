/** A page whose last one has no next cursor: it may be short or empty while there are more. */
interface CursorPage {
  readonly next_cursor: string | null;
}

/** All items of all pages. An empty page is not the end: only a page without a cursor is. */
export async function* itemsOf<Page extends CursorPage, Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page>,
  items: (page: Page) => readonly Item[],
  first?: string,
): AsyncGenerator<Item, void, undefined> {
  for (let cursor = first; ; ) {
    const page = await fetchPage(cursor);
    yield* items(page);
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
