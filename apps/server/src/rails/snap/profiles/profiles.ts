import { ASPI } from './aspi.ts';
import { BCA } from './bca.ts';
import { BRI } from './bri.ts';
import { MANDIRI } from './mandiri.ts';
import { MIDTRANS } from './midtrans.ts';
import type { SnapProfile } from './profile.ts';

/** As the rails file names them. */
export const PROFILES = {
  aspi: ASPI,
  bca: BCA,
  bri: BRI,
  mandiri: MANDIRI,
  midtrans: MIDTRANS,
} as const satisfies Record<string, SnapProfile>;

export type ProfileName = keyof typeof PROFILES;
