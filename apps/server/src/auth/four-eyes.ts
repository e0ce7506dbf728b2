/** What a second person may have to approve, where the operator turns it on (TIBA_FOUR_EYES). */
export const FOUR_EYES_KINDS = ['replay', 'limits', 'trust', 'keys', 'reviews'] as const;
export type FourEyesKind = (typeof FOUR_EYES_KINDS)[number];
