import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Colors where a person reads them: on a terminal, unless NO_COLOR says no (https://no-color.org). */
export const createPaint =
  (stream: NodeJS.WriteStream): ((style: Style, text: string) => string) =>
  (style, text) =>
    styleText(style, text, { stream });

/** What a terminal obeys: control characters, line breaks among them, and those that turn the direction of writing. */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** What `createPaint` adds, whole, or one character that a terminal obeys. */
const COLOR_OR_OBEYED = new RegExp(`\u001B\\[\\d{1,2}m|${OBEYED.source}`, 'gu');

/**
 * A text of the service without what a terminal would obey: a description must not move the cursor, change a color or
 * turn the direction of what follows.
 */
export const plain = (text: string): string => text.replaceAll(OBEYED, '�');

/** The same for each line of a text. */
export const plainLines = (text: string): string => text.split('\n').map(plain).join('\n');

/** The same for a text that has colors of our own. A text of the service might have them too, so use `plain` for it. */
export const plainButColors = (text: string): string =>
  text.replaceAll(COLOR_OR_OBEYED, (found) => (found.length === 1 ? '�' : found));

/** JSON that a terminal may show: JSON leaves the controls beyond ASCII as they are. A reader gets the same values. */
export const terminalJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
