import { XMLParser } from 'fast-xml-parser';

/**
 * XML as messages between banks have it, which is a small part of XML. Refused is whatever they have no need of and two
 * readers may see differently: a DOCTYPE with its entities, comments, CDATA, processing instructions, text between elements.
 * Nothing is fetched and nothing expands: what is read is never longer than what came.
 */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  /** The namespace that the prefix, or its absence, stands for; '' for none. */
  readonly namespace: string;
  readonly children: readonly XmlElement[];
  /** As it was meant: references are replaced. '' where there are children. */
  readonly text: string;
}

/** The text is no XML, or not of the kind that is read here. */
export class MalformedXml extends Error {}

/** Of elements in each other. A report needs ten; each level costs a call of `elementOf`. */
const DEPTH_MAX = 32;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  // An account number is text: as numbers, its leading zeros would be lost.
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  maxNestedTags: DEPTH_MAX,
});

const DECLARATION =
  /^<\?xml\s+version=(["'])1\.0\1(?:\s+encoding=(["'])utf-8\2)?(?:\s+standalone=(["'])(?:yes|no)\3)?\s*\?>/i;
const NAME = String.raw`[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?`;
/** What may follow a "<", up to the next one. The parser alone is more patient than the standard. */
const TAG_AND_TEXT = new RegExp(
  String.raw`^(?:/${NAME}\s*|${NAME}(?:\s+${NAME}\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?)>[^]*$`,
);
/** XML 1.0, section 2.2: characters that are in no document, however they are written. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const NO_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** The root. @throws MalformedXml, and nothing else */
export function parseXml(text: string): XmlElement {
  const content = text.replace(DECLARATION, '').trim();
  const [before = '', ...parts] = content.split('<');
  if (before !== '' || parts.length === 0) throw new MalformedXml('no element');
  if (NO_CHARACTER.test(content)) throw new MalformedXml('a character that XML does not have');
  if (!parts.every((part) => TAG_AND_TEXT.test(part))) throw new MalformedXml('something else than elements and text');
  const [root, ...others] = parse(content);
  if (root === undefined || others.length > 0) throw new MalformedXml('not one root');
  return elementOf(root, new Map());
}

/** The one child of this name in the parent's namespace, or null. @throws MalformedXml when there are several */
export function child(parent: XmlElement | null, name: string): XmlElement | null {
  const [first = null, ...others] = parent === null ? [] : childrenOf(parent, name);
  if (others.length > 0) throw new MalformedXml(`several ${name}`);
  return first;
}

export const childrenOf = (parent: XmlElement, name: string): readonly XmlElement[] =>
  parent.children.filter((each) => each.name === name && each.namespace === parent.namespace);

/** For the text of an element. */
export const escapeXml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');

/** A node of the parser: one name with its content, and its attributes under `:@`, which is no name in XML. */
type ParsedNode = Readonly<Record<string, readonly ParsedNode[]>>;
const ATTRIBUTES = ':@';
const TEXT = '#text';

function parse(content: string): readonly ParsedNode[] {
  try {
    return parser.parse(content, true) as readonly ParsedNode[];
  } catch (error) {
    // The reason quotes the message, which may name an account: it is kept as the cause, not said.
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
  if (namespace === null) throw new MalformedXml('a prefix that stands for nothing');

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

/** XML 1.0, section 4.6: the five entities that need no declaration, and characters by their number. No others. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  const decoded = text.replaceAll(REFERENCE, (_whole, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? refuseReference();
    const number = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return number <= 0x10_ffff ? String.fromCodePoint(number) : refuseReference();
  });
  if (NO_CHARACTER.test(decoded) || !decoded.isWellFormed()) return refuseReference();
  return decoded;
}

function refuseReference(): never {
  throw new MalformedXml('a reference to what is not known');
}
