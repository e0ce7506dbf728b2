import { isUtf8 } from 'node:buffer';

/** An element of the subset of XML that a scheme accepts: no prefixes, only elements and text. */
export interface XmlElement {
  readonly name: string;
  /** The unparsed attributes, trimmed. */
  readonly attributes: string;
  readonly children: XmlElement[];
  /** '' if there are children. */
  text: string;
}

const DECLARATION = /^<\?xml version="1\.0" encoding="UTF-8"\?>\s*/;
// A tag with its slashes and attributes, or text. Comments, CDATA, processing instructions and DOCTYPE do not match.
const ATTRIBUTES = /(?<attributes>(?:\s+[A-Za-z:]+="[^"<&]*")*)/.source;
const TAG = `<(?<closing>/?)(?<name>[A-Za-z][A-Za-z0-9.]*)${ATTRIBUTES}${String.raw`\s*`}(?<empty>/?)>`;
const TOKEN = new RegExp(`${TAG}|(?<text>[^<]+)`, 'y');
const ENTITY = /&(?:(?<name>amp|lt|gt|quot|apos);)?/g;
const CHARACTERS: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The root element of a message in UTF-8, or null. */
export function parseXml(body: Buffer): XmlElement | null {
  if (!isUtf8(body)) return null;
  const content = body.toString('utf8').replace(DECLARATION, '').trimEnd();
  const above: XmlElement = { name: '', attributes: '', children: [], text: '' };
  const open = [above];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < content.length) {
    const token = TOKEN.exec(content)?.groups;
    if (token === undefined || !addToken(open, token)) return null;
  }
  const [root, ...others] = above.children;
  const whole = open.length === 1 && others.length === 0 && above.text === '';
  return whole && root !== undefined && decodeTexts(root) ? root : null;
}

/** Adds a token to the innermost open element; false if the token is not allowed there. */
function addToken(open: XmlElement[], token: Readonly<Record<string, string | undefined>>): boolean {
  const current = open.at(-1);
  const { name = '', attributes = '', text } = token;
  if (current === undefined) return false;
  if (text !== undefined) {
    current.text += text;
    return true;
  }
  if (token['closing'] === '/') return attributes === '' && token['empty'] === '' && open.pop()?.name === name;
  const element: XmlElement = { name, attributes: attributes.trim(), children: [], text: '' };
  current.children.push(element);
  if (token['empty'] === '') open.push(element);
  return true;
}

/**
 * Decodes the text of every element. False if an element has both text and children, or a text has an entity other than
 * the five that XML predefines.
 */
function decodeTexts(root: XmlElement): boolean {
  const elements = [root];
  for (const element of elements) {
    if (element.children.length > 0 && element.text.trim() !== '') return false;
    const decoded = decode(element.text);
    if (decoded === null) return false;
    element.text = element.children.length > 0 ? '' : decoded;
    elements.push(...element.children);
  }
  return true;
}

function decode(text: string): string | null {
  let known = true;
  const decoded = text.replaceAll(ENTITY, (_whole, name?: string) => {
    known &&= name !== undefined;
    return CHARACTERS[name ?? ''] ?? '';
  });
  return known ? decoded : null;
}

/** An XML element with text. */
export const textElement = (name: string, text: string): string =>
  `<${name}>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</${name}>`;

/** An XML element with child elements. */
export const element = (name: string, ...content: readonly string[]): string =>
  `<${name}>${content.join('')}</${name}>`;

/** A parsed element, serialized under another name. */
export const copyAs = (name: string, { children, text }: XmlElement): string =>
  children.length === 0 ? textElement(name, text) : element(name, ...children.map((each) => copyAs(each.name, each)));

/** The element at a path. Throws if it is missing: the rules must have been checked before. */
export function elementAt(from: XmlElement, ...path: readonly string[]): XmlElement {
  return path.reduce((parent, name) => {
    const found = parent.children.find((each) => each.name === name);
    if (found === undefined) throw new Error(`The element ${name} is missing in ${parent.name}.`);
    return found;
  }, from);
}
