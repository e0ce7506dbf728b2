/**
 * What the console's overview page asks the operator API for. test/console/console.test.ts holds that Chromium asks for
 * exactly this; the benchmark replays it.
 */
export const PAGE_REQUESTS = ['/operator/v1/session', '/operator/v1/console', '/operator/v1/overview'] as const;

/** The page requests this again `POLL_MS` after each answer while it is visible: apps/console/src/pages/overview.tsx. */
export const POLLED_REQUEST = '/operator/v1/overview';
export const POLL_MS = 5_000;
