import { ACMT } from './acmt/protocol.ts';
import { BI_FAST } from './bi-fast/protocol.ts';
import type { Protocol } from './protocol.ts';
import { SNAP } from './snap/protocol.ts';

/** The protocols that Tiba supports, one line each. */
export const PROTOCOLS: readonly Protocol[] = [SNAP, ACMT, BI_FAST];
