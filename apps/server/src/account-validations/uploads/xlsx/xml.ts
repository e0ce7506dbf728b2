import type { Readable } from 'node:stream';
import sax from 'sax';
import { ownProperty } from '../../../lib/own-property.ts';
import { UnreadableUpload } from '../upload.ts';
import { damaged, type Parts } from './parts.ts';

/** By the names as they are written, including prefixes. */
export type Attributes = Readonly<Partial<Record<string, string>>>;

/** Handles the elements of one name. */
export interface ElementReader {
  open?(attributes: Attributes): void;
  /** `text` is the text of the element itself, without that of its children. It is cut after the length of a cell. */
  close?(text: string): void;
  readonly inside?: ElementReaders;
}

/** By element name without prefix. All other elements, and their content, are skipped. */
export type ElementReaders = Readonly<Record<string, ElementReader>>;

/** The cells of a sheet are at depth six. */
const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 256;
/** Different names in one part. A new name costs ten times as much as one that occurred before. */
const ATTRIBUTE_NAMES_MAX = 1_000;
/** One name, value, comment or text. The text of a cell has at most 32,767 characters, some of them written as ten. */
const TOKEN_LENGTH_MAX = 1024 * 1024;

/** `strictEntities`: the predefined entities of XML only, not those of HTML. */
const OPTIONS = { strictEntities: true, position: false };

/**
 * Reads a part as a stream, with one element in memory at a time. A DOCTYPE is rejected, and with it every entity that
 * the sender defines. @throws UnreadableUpload when the XML is not well-formed, and what `readers` throw
 */
export async function readXml(
  part: Readable,
  readers: ElementReaders,
  { countMarkup, limits: { cellLengthMax } }: Pick<Parts, 'countMarkup' | 'limits'>,
): Promise<void> {
  const parser = sax.parser(true, OPTIONS);
  const open: (ElementReader | undefined)[] = [];
  let text = '';
  const attributeNames = new Set<string>();
  let attributeCount = 0;
  let tokenLength = 0;

  function appendText(more: string): void {
    tokenLength = 0;
    if (open.at(-1) !== undefined && text.length <= cellLengthMax) text += more.slice(0, cellLengthMax + 1);
  }

  // Assigned one by one and by name: with handlers that are assigned all at once, V8 takes twice as long for a sheet.
  /* oxlint-disable unicorn/prefer-add-event-listener -- a parser is no event target */
  parser.onerror = throwDamaged;
  parser.ondoctype = throwDamaged;
  parser.onopentagstart = () => {
    countMarkup();
    attributeCount = 0;
  };
  parser.onattribute = ({ name }) => {
    countMarkup();
    attributeCount += 1;
    attributeNames.add(name);
    if (attributeCount > ATTRIBUTES_MAX || attributeNames.size > ATTRIBUTE_NAMES_MAX) throwDamaged();
  };
  parser.onopentag = ({ name, attributes }) => {
    tokenLength = 0;
    const siblings = open.length === 0 ? readers : open.at(-1)?.inside;
    const reader = siblings === undefined ? undefined : readerOf(siblings, localName(name));
    if (open.push(reader) > DEPTH_MAX) throwDamaged();
    if (reader === undefined) return;
    text = '';
    reader.open?.(attributes as Attributes);
  };
  parser.ontext = appendText;
  parser.oncdata = appendText;
  parser.onclosetag = () => {
    tokenLength = 0;
    open.pop()?.close?.(text);
  };
  /* oxlint-enable unicorn/prefer-add-event-listener */

  try {
    const utf8 = new TextDecoder('utf-8', { fatal: true });
    for await (const bytes of part) {
      const chunk = utf8.decode(bytes as Buffer, { stream: true });
      tokenLength += chunk.length;
      parser.write(chunk);
      if (tokenLength > TOKEN_LENGTH_MAX) throwDamaged();
    }
    parser.write(utf8.decode()).close();
  } catch (error) {
    throw error instanceof UnreadableUpload ? error : damaged();
  }
}

export const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

const readerOf = (readers: ElementReaders, name: string): ElementReader | undefined => ownProperty(readers, name);

function throwDamaged(): never {
  throw damaged();
}
