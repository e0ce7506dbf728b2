import { readFile } from 'node:fs/promises';
import { validateXML } from 'xmllint-wasm';

/** libxml2 as the judge of messages, with schemas that say what they are and what they are not. */

/** What is wrong with an XML message, in libxml2's words. `values` replaces `{name}` in the schema. */
export async function faultsOf(
  xml: string,
  schemaFile: string,
  values: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const template = await readFile(new URL(schemaFile, import.meta.url), 'utf8');
  const schema = Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`{${name}}`, value), template);
  const { errors } = await validateXML({ xml, schema });
  return errors.map((error) => error.message);
}

type Json = string | { readonly [name: string]: Json } | readonly Json[];

/**
 * The XML of a message that BI-FAST writes as JSON: a member is an element, the members of an array are repeated
 * elements, and the currency of an amount is an attribute.
 */
export function xmlOf(namespace: string, root: string, content: Json): string {
  return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${namespace}">${element(root, content)}</Document>`;
}

function element(name: string, content: Json): string {
  if (typeof content === 'string') return `<${name}>${escaped(content)}</${name}>`;
  if (isArray(content)) return content.map((each) => element(name, each)).join('');
  const { value, Value, Ccy, ...others } = content;
  const amount = value ?? Value;
  if (typeof amount === 'string' && typeof Ccy === 'string')
    return `<${name} Ccy="${escaped(Ccy)}">${escaped(amount)}</${name}>`;
  const children = Object.entries(Ccy === undefined ? others : content);
  return `<${name}>${children.map(([child, each]) => element(child, each)).join('')}</${name}>`;
}

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
