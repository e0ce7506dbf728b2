import { withoutBidiControls } from './identifiers.ts';

/**
 * Names and descriptions arrive composed or decomposed, depending on the machine that wrote them, and with invisible
 * controls of the writing direction. They are stored composed and without these; a message is stored as it arrived.
 */
export const toStoredText = (text: string): string => withoutBidiControls(text).normalize('NFC');

/**
 * Replaces what `pattern`, which is global, finds in the stored form of the text. What stands around it stays as it
 * arrived, but for controls of the writing direction right at its ends: alone they would turn around what follows.
 */
export function replaceInStoredForm(text: string, pattern: RegExp, replacement: string): string {
  const stored = toStoredText(text);
  const replacedStored = stored.replaceAll(pattern, replacement);
  if (stored === text) return replacedStored;
  if (stored === replacedStored) return text;
  const places = placesOf(text, stored);
  if (places === null) return replacedStored;
  let replaced = '';
  let kept = 0;
  for (const { 0: match, index } of stored.matchAll(pattern)) {
    const begin = places[index]?.begin ?? text.length;
    replaced += text.slice(kept, begin).replace(TRAILING_CONTROLS, '') + replacement;
    kept = places[index + match.length - 1]?.end ?? text.length;
  }
  return replaced + text.slice(kept);
}

/** Where a UTF-16 unit of the stored form stands in the text. */
interface Place {
  readonly begin: number;
  readonly end: number;
}

/** The look-behind keeps long runs of them from being read once for each. */
const TRAILING_CONTROLS = /(?<!\p{Bidi_Control})\p{Bidi_Control}+$/u;

/** A character with the marks that may be composed with it. */
const CLUSTER = /[^][\p{M}\p{Bidi_Control}]*/gu;

/** The place of each unit of `stored`; null where other characters compose, such as those of a Hangul syllable. */
function placesOf(text: string, stored: string): Place[] | null {
  const places: Place[] = [];
  let composed = '';
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const form = toStoredText(cluster);
    composed += form;
    for (let unit = 0; unit < form.length; unit += 1) {
      places.push(
        form === cluster
          ? { begin: index + unit, end: index + unit + 1 }
          : { begin: index, end: index + cluster.length },
      );
    }
  }
  return composed === stored ? places : null;
}
