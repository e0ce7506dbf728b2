/** Replaces a person's account numbers and names in texts. */

/** What stands in the place of a number or a name. */
export const ERASED = 'ERASED';

export interface Eraser {
  readonly finds: (text: string) => boolean;
  readonly eraseText: (text: string) => string;
  /** In the strings of a JSON text; everything else stays byte for byte, also numbers such as an amount. */
  readonly eraseJson: (json: string) => string;
}

const JSON_STRING = /"(?:[^"\\]|\\.)*"/g;

/** A term counts as a whole word, in any case: `1234567` is not found in `12345678`, nor in the amount `1234567.00`. */
export function createEraser(terms: readonly string[]): Eraser {
  const alternatives = [...new Set(terms)]
    .filter((term) => term !== '' && term !== ERASED)
    .sort((one, other) => other.length - one.length)
    .map((term) => term.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  if (alternatives.length === 0) return { finds: () => false, eraseText: (text) => text, eraseJson: (json) => json };
  const words = String.raw`(?<![\p{L}\p{N}])(?:${alternatives.join('|')})(?![\p{L}\p{N}]|[.,]\p{N})`;
  const pattern = new RegExp(words, 'giu');
  const eraseText = (text: string): string => text.replaceAll(pattern, ERASED);
  const eraseJson = (json: string): string =>
    json.replaceAll(JSON_STRING, (token) => {
      const text = JSON.parse(token) as string;
      const erased = eraseText(text);
      return erased === text ? token : JSON.stringify(erased);
    });
  return { finds: (text) => eraseText(text) !== text, eraseText, eraseJson };
}
