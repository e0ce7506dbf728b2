import { XMLParser } from 'fast-xml-parser';

/**
 * The small part of XML that messages between banks use. Features that they do not need, and that two readers may
 * interpret differently, are rejected: a DOCTYPE with its entities, comments, CDATA, processing instructions, and text
 * between elements. Nothing is fetched and nothing expands: the parsed text is never longer than the message.
 */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  /** The namespace of the prefix, or the default namespace; '' for none. */
  readonly namespace: string;
  readonly children: readonly XmlElement[];
  /** With its references replaced. '' where there are children. */
  readonly text: string;
}

/** The text is no XML, or uses features that are rejected here. */
export class MalformedXml extends Error {}

/** The nesting depth of elements. A report needs ten levels; each one costs a call of `elementOf`. */
const DEPTH_MAX = 32;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  // An account number is text: as a number it would lose its leading zeros.
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  maxNestedTags: DEPTH_MAX,
});

const DECLARATION =
  /^<\?xml\s+version=(["'])1\.0\1(?:\s+encoding=(["'])utf-8\2)?(?:\s+standalone=(["'])(?:yes|no)\3)?\s*\?>/i;
const NAME = String.raw`[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?`;
/** The text from one "<" to the next. The parser alone accepts more than the standard allows. */
const TAG_AND_TEXT = new RegExp(
  String.raw`^(?:/${NAME}\s*|${NAME}(?:\s+${NAME}\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?)>[^]*$`,
);
/** XML 1.0, section 2.2: characters that no document may contain, neither directly nor as a reference. */
// oxlint-disable-next-line no-control-regex -- the pattern is meant to match control characters
const NO_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** The root. @throws MalformedXml, and nothing else */
export function parseXml(text: string): XmlElement {
  const content = text.replace(DECLARATION, '').trim();
  const [before = '', ...parts] = content.split('<');
  if (before !== '' || parts.length === 0) throw new MalformedXml('no element');
  if (NO_CHARACTER.test(content)) throw new MalformedXml('a character that XML does not allow');
  if (!parts.every((part) => TAG_AND_TEXT.test(part))) throw new MalformedXml('only elements and text are allowed');
  const [root, ...others] = parse(content);
  if (root === undefined || others.length > 0) throw new MalformedXml('there must be one root element');
  return elementOf(root, new Map());
}

/** The one child of this name in the parent's namespace, or null. @throws MalformedXml when there are several */
export function child(parent: XmlElement | null, name: string): XmlElement | null {
  const [first = null, ...others] = parent === null ? [] : childrenOf(parent, name);
  if (others.length > 0) throw new MalformedXml(`more than one ${name}`);
  return first;
}

export const childrenOf = (parent: XmlElement, name: string): readonly XmlElement[] =>
  parent.children.filter((each) => each.name === name && each.namespace === parent.namespace);

/** Escapes the text of an element. */
export const escapeXml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');

/** A node of the parser: one name with its content, and its attributes under `:@`, which cannot be a name in XML. */
type ParsedNode = Readonly<Record<string, readonly ParsedNode[]>>;
const ATTRIBUTES = ':@';
const TEXT = '#text';

function parse(content: string): readonly ParsedNode[] {
  try {
    return parser.parse(content, true) as readonly ParsedNode[];
  } catch (error) {
    // The parser's reason may quote an account number from the message. It is kept as the cause and is not in the text.
    throw new MalformedXml('not well-formed', { cause: error });
  }
}

function elementOf(node: ParsedNode, outerScope: ReadonlyMap<string, string>): XmlElement {
  const [qualifiedName = '', content = []] = Object.entries(node).find(([key]) => key !== ATTRIBUTES) ?? [];
  const attributes = (node[ATTRIBUTES] ?? {}) as Readonly<Record<string, string>>;
  const declared = Object.entries(attributes).filter(([name]) => name === 'xmlns' || name.startsWith('xmlns:'));
  const scope =
    declared.length === 0
      ? outerScope
      : new Map([...outerScope, ...declared.map(([name, uri]) => [name.slice('xmlns:'.length), uri] as const)]);

  const colon = qualifiedName.indexOf(':');
  const prefix = colon === -1 ? '' : qualifiedName.slice(0, colon);
  const namespace = scope.get(prefix) ?? (prefix === '' ? '' : null);
  if (namespace === null) throw new MalformedXml('an undeclared prefix');

  const children = content.filter((each) => !(TEXT in each)).map((each) => elementOf(each, scope));
  const text = decode(content.map((each) => (each[TEXT] ?? '') as string).join(''));
  if (children.length > 0 && text.trim() !== '') throw new MalformedXml('text between elements');
  return { name: qualifiedName.slice(colon + 1), namespace, children, text: children.length > 0 ? '' : text };
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);
const REFERENCE = /&(?:([a-z]{2,4})|#(\d{1,7})|#x([\dA-Fa-f]{1,6}));|&/g;

/** Replaces the five entities that need no declaration (XML 1.0, section 4.6) and character references. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  const decoded = text.replaceAll(REFERENCE, (_whole, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? rejectReference();
    const number = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return number <= 0x10_ffff ? String.fromCodePoint(number) : rejectReference();
  });
  if (NO_CHARACTER.test(decoded) || !decoded.isWellFormed()) return rejectReference();
  return decoded;
}

function rejectReference(): never {
  throw new MalformedXml('an unknown reference');
}
