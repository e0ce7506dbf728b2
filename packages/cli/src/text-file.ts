/** The text of a file or of standard input, without the byte order mark that programs on Windows begin with. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

/** The only line of a file: a secret or an address, which an editor has ended in its own way. */
export const onlyLineOf = (text: string): string => withoutMark(text).replace(/\r?\n$/, '');
