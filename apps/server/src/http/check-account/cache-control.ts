const MAX_AGE = /^max-age\s*=\s*"?(\d{1,9})"?$/i;

/**
 * The age that a request's Cache-Control accepts (RFC 9111, section 5.2.1.1), in seconds; 0 unless it says so, and with
 * `no-cache` or `no-store`. What is not understood is passed over.
 */
export function acceptedAgeSeconds(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return 0;
  let seconds = 0;
  for (const directive of cacheControl.split(',')) {
    const text = directive.trim();
    if (/^no-(?:cache|store)$/i.test(text)) return 0;
    seconds = Number(MAX_AGE.exec(text)?.[1] ?? seconds);
  }
  return seconds;
}
