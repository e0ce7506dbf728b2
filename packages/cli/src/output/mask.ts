/** Account numbers and names as a terminal shows them: what stands on a screen is photographed and shared. */

const DIGITS_SHOWN = 4;

/** `******7890`. A short number is hidden as a whole. */
export function maskNumber(number: string): string {
  const shown = number.length > DIGITS_SHOWN + 2 ? number.slice(-DIGITS_SHOWN) : '';
  return '*'.repeat(number.length - shown.length) + shown;
}

/** `B*** S******`. */
export const maskName = (name: string): string =>
  name.replaceAll(/\S+/g, (word) => {
    const [first = ''] = word;
    return first + '*'.repeat(Math.max(0, Array.from(word).length - 1));
  });
