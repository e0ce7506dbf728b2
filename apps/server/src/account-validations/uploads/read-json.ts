import { isJsonObject, numberText, parseExactJson } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { Cell, Rows } from './rows.ts';
import { invalid, tooLarge } from './upload.ts';

/** Reads `{"accounts": [{"bank_code": …}, …]}`. @throws UnreadableUpload */
export function readJson(body: Buffer, rows: Rows): void {
  const root = parse(body);
  const accounts = isJsonObject(root) ? ownProperty(root, 'accounts') : undefined;
  if (!Array.isArray(accounts)) throw invalid('the body must be a JSON object with an array accounts');
  accounts.forEach((account: unknown, index) => {
    if (isJsonObject(account)) rows.add(index + 1, (column) => cellOf(ownProperty(account, column)));
    else rows.add(index + 1, () => null, 'is not a JSON object');
  });
}

function cellOf(value: unknown): Cell {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return null;
  if (numberText(value) !== undefined) return { fault: 'is a number: send it as a string' };
  return { fault: 'is not a string' };
}

/** 50,000 accounts have 300,000 values. A value takes far more memory when parsed than when sent. */
const VALUES_MAX = 1_000_000;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

function parse(body: Buffer): unknown {
  if (hasTooManyValues(body)) throw tooLarge('it has far more values than accounts need: send it in parts');
  const text = decode(body);
  try {
    return parseExactJson(text);
  } catch {
    throw invalid(syntaxFault(text));
  }
}

/** Counts the characters that start a value. Commas inside strings count too: no legitimate upload has that many. */
function hasTooManyValues(body: Buffer): boolean {
  let values = 0;
  for (let index = 0; index < body.length && values <= VALUES_MAX; index += 1) {
    const byte = body[index];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1;
  }
  return values > VALUES_MAX;
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw invalid('the body is not UTF-8');
  }
}

/** Only the position is taken from the parser's message, because the message quotes the body. */
function syntaxFault(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    const [position] = /line \d+ column \d+/.exec(error instanceof Error ? error.message : '') ?? [];
    return `the body is not valid JSON${position === undefined ? '' : ` at ${position}`}`;
  }
  return 'an object in the body has one field twice, with two values, or the body is nested too deeply';
}
