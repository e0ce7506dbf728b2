/** The strong validator of a transaction's version (RFC 9110, section 8.8.3). */
export const entityTag = (version: string): string => `"${version}"`;

/** Whether If-None-Match names the tag (RFC 9110, section 13.1.2: compared weakly, so `W/` makes no difference). */
export const matchesEntityTag = (ifNoneMatch: string, tag: string): boolean =>
  ifNoneMatch.split(',').some((each) => {
    const text = each.trim();
    return text === '*' || text === tag || text === `W/${tag}`;
  });
