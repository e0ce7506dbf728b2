/** Anchors of headings, as GitHub makes them: a link works there and on the site. */

const withoutMarkup = (heading: string): string =>
  heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');

/** The anchor of a heading: letters, digits, underscores and hyphens stay, and spaces become hyphens. */
export const anchorOf = (heading: string): string =>
  withoutMarkup(heading)
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');

/** Markdown without its blocks of code, line by line. */
export function linesOfProse(page: string): string[] {
  let fence: string | null = null;
  return page.split('\n').filter((line) => {
    const [, mark] = /^\s*(```+|~~~+)/.exec(line) ?? [];
    if (mark === undefined) return fence === null;
    if (fence === null) fence = mark;
    else if (line.trim() === fence) fence = null;
    return false;
  });
}

/** The anchors of a page; of headings with the same text, the second one ends with `-1`. */
export function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const line of linesOfProse(page)) {
    const [, heading] = /^#{1,6} (.*)$/.exec(line) ?? [];
    if (heading === undefined) continue;
    const anchor = anchorOf(heading);
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    anchors.add(times === 0 ? anchor : `${anchor}-${times}`);
  }
  return anchors;
}

/** The first heading of a page, without markup. */
export const titleOf = (page: string): string => withoutMarkup(/^# (.*)$/m.exec(page)?.[1] ?? '');
