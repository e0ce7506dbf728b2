import { type BilingualText, followedBy } from '../../lib/bilingual-text.ts';
import { countMembers, isJsonObject, numberText } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { Cell, Rows } from './rows.ts';
import { invalid, tooLarge } from './upload.ts';

/** Reads `{"accounts": [{"bank_code": …}, …]}`. @throws UnreadableUpload */
export function readJson(body: Buffer, rows: Rows): void {
  const root = parse(body);
  const accounts = isJsonObject(root) ? ownProperty(root, 'accounts') : undefined;
  if (!Array.isArray(accounts))
    throw invalid({
      en: 'the body must be a JSON object with an array accounts',
      id: 'body harus berupa objek JSON dengan array accounts',
    });
  accounts.forEach((account: unknown, index) => {
    if (isJsonObject(account)) rows.add(index + 1, (column) => cellOf(ownProperty(account, column)));
    else rows.add(index + 1, () => null, NOT_AN_OBJECT);
  });
}

const NOT_AN_OBJECT: BilingualText = { en: 'is not a JSON object', id: 'bukan objek JSON' };

const TOO_MANY_NAMES: BilingualText = {
  en: 'it has far more field names than accounts need: keep only the four',
  id: 'jumlah nama field jauh melebihi yang diperlukan: sisakan empat saja',
};

function cellOf(value: unknown): Cell {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return null;
  if (numberText(value) !== undefined)
    return { fault: { en: 'is a number: send it as a string', id: 'berupa angka: kirim sebagai string' } };
  return { fault: { en: 'is not a string', id: 'bukan string' } };
}

/** 50,000 accounts have 300,000 values. A value takes far more memory when parsed than when sent. */
const VALUES_MAX = 1_000_000;
/** V8 keeps objects with more different names in hash tables, of which each takes hundreds of bytes. */
const NAMES_MAX = 1_000;
/** An account needs three levels: the object, its array, and the object of the account. */
const DEPTH_MAX = 1_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Parses with `JSON.parse`, which takes two bytes of memory for each byte of a text. `parseExactJson` may take 30,
 * because its slow way appends the characters of a string one by one. What it does in addition is not needed here: the
 * four fields may not be numbers, and `countMembers` finds fields that an object has twice.
 */
function parse(body: Buffer): unknown {
  const members = countMembersInText(body);
  const text = decode(body);
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    throw invalid(syntaxFault(error));
  }
  if (countMembers(root) !== members)
    throw invalid({
      en: 'an object in the body has one field twice: send it once',
      id: 'sebuah objek dalam body memiliki field yang sama dua kali: kirim satu kali saja',
    });
  return root;
}

/**
 * The number of members of all objects, which is the number of colons outside strings. Text that is not JSON may give
 * any number. @throws UnreadableUpload for more values or names, or deeper nesting, than accounts need
 */
function countMembersInText(body: Buffer): number {
  let members = 0;
  let values = 0;
  let depth = 0;
  let isInString = false;
  /** Of the last string: FNV-1a, in which two names may share a hash. */
  let hash = 0;
  const names = new Set<number>();
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index] as number;
    if (byte === QUOTE) {
      if (!isInString) hash = 0x811c9dc5;
      isInString = !isInString;
    } else if (isInString) {
      hash = Math.imul(hash ^ byte, 0x01000193);
      if (byte === BACKSLASH) index += 1;
    } else if (byte === COLON) {
      members += 1;
      names.add(hash);
      if (names.size > NAMES_MAX) throw tooLarge(TOO_MANY_NAMES);
    } else if (byte === COMMA) values += 1;
    else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) depth -= 1;
    else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      values += 1;
      depth += 1;
      if (depth > DEPTH_MAX)
        throw invalid({
          en: 'the body is nested too deeply',
          id: 'body bersarang terlalu dalam',
        });
    }
    if (values > VALUES_MAX)
      throw tooLarge({
        en: 'it has far more values than accounts need: send it in parts',
        id: 'jumlah nilainya jauh melebihi yang diperlukan: kirim dalam beberapa bagian',
      });
  }
  return members;
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw invalid({
      en: 'the body is not UTF-8',
      id: 'body bukan UTF-8',
    });
  }
}

/** Only the position is taken from the parser's message, because the message quotes the body. */
function syntaxFault(error: unknown): BilingualText {
  const [, line, column] = /line (\d+) column (\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
  const fault = { en: 'the body is not valid JSON', id: 'body bukan JSON yang valid' };
  if (line === undefined) return fault;
  return followedBy(fault, { en: ` at line ${line} column ${column}`, id: ` pada baris ${line} kolom ${column}` });
}
