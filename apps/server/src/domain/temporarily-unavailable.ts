import type { BilingualText } from '../lib/bilingual-text.ts';

/** The text of SERVICE_UNAVAILABLE, which is a temporary condition and says so (docs/contract.md 7.1). */
export interface TemporarilyUnavailable extends BilingualText {
  readonly en: `Temporarily unavailable: ${string}`;
  readonly id: `Sementara tidak tersedia: ${string}`;
}

/** `reason` goes on after a colon: what cannot answer, and what to do. */
export const temporarilyUnavailable = ({ en, id }: BilingualText): TemporarilyUnavailable => ({
  en: `Temporarily unavailable: ${en}`,
  id: `Sementara tidak tersedia: ${id}`,
});
