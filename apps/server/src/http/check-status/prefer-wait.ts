/** No connection is held for longer than proxies commonly allow. */
const WAIT_SECONDS_MAX = 60;

const WAIT = /^wait\s*=\s*"?(\d{1,9})"?$/i;

/**
 * The seconds that `Prefer: wait=N` asks for, 60 at the most; null where it asks for nothing that is understood. What is
 * not understood is passed over, and of one named twice the first counts (RFC 7240, section 2).
 */
export function waitSeconds(prefer: string | string[] | undefined): number | null {
  if (prefer === undefined) return null;
  for (const preference of String(prefer).split(',')) {
    const [text = ''] = preference.split(';', 1);
    const seconds = WAIT.exec(text.trim())?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), WAIT_SECONDS_MAX);
  }
  return null;
}
