const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Drops the whitespace between JSON's tokens (RFC 8259 section 2) and nothing else: member order, escapes and spaces
 * inside strings stay. Works on UTF-8 bytes, in which no byte of a multi-byte character equals a quote or a space.
 * The result for text that is not JSON is deterministic; the parser rejects such text later.
 */
export function minify(json: Buffer): Buffer {
  let minified: Buffer | null = null;
  let length = 0;
  let runStart = 0;
  let insideString = false;

  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (byte === QUOTE) {
      insideString = !insideString;
    } else if (insideString) {
      // The escaped character may be a quote that does not end the string.
      if (byte === BACKSLASH) index += 1;
    } else if (byte === SPACE || byte === TAB || byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      minified ??= Buffer.allocUnsafe(json.length);
      length += json.copy(minified, length, runStart, index);
      runStart = index + 1;
    }
  }
  if (minified === null) return json;
  length += json.copy(minified, length, runStart);
  return minified.subarray(0, length);
}
