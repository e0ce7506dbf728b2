/** `5,000`. */
export const counted = (count: number): string => count.toLocaleString('en-US');

/** `1 row`, `5,000 rows`. */
export const countOf = (count: number, noun: string): string => `${counted(count)} ${noun}${count === 1 ? '' : 's'}`;
