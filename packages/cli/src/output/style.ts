import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Colors where a person reads them: on a terminal, unless NO_COLOR says no (https://no-color.org). */
export const createPaint =
  (stream: NodeJS.WriteStream): ((style: Style, text: string) => string) =>
  (style, text) =>
    styleText(style, text, { stream });

/**
 * A text of the service without what a terminal would obey: a description must not move the cursor, change a color or
 * turn the direction of what follows.
 */
export const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '�');
