import type { Readable } from 'node:stream';
import sax from 'sax';
import { ownProperty } from '../../../lib/own-property.ts';
import { CELL_LENGTH_MAX } from '../rows.ts';
import { UnreadableUpload } from '../upload.ts';
import { damaged, type Parts } from './parts.ts';

/** As they are written, prefixes and all. */
export type Attributes = Readonly<Partial<Record<string, string>>>;

/** What is done with elements of one kind. */
export interface ElementReader {
  open?(attributes: Attributes): void;
  /** The text is what stands in the element itself, and is cut where it is longer than a cell may be. */
  close?(text: string): void;
  readonly inside?: ElementReaders;
}

/** By their names without prefixes. All others, and what is inside of them, are passed over. */
export type ElementReaders = Readonly<Record<string, ElementReader>>;

/** A sheet's cells are six deep. */
const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 256;
/** In a part, of all elements together: a new name costs ten times what one that was there before does. */
const ATTRIBUTE_NAMES_MAX = 1_000;
/** Of a name, a value, a comment, a text: a cell's has 32,767 characters at the most, some written in ten. */
const TOKEN_LENGTH_MAX = 1024 * 1024;

/** Of entities those of XML itself, not those of HTML. */
const OPTIONS = { strictEntities: true, position: false };

/**
 * Reads a part piece by piece: what is kept is one element, however long the part is. A DOCTYPE, and so every entity of the
 * sender's own, is refused. @throws UnreadableUpload for what is not well-formed, and what `readers` throw
 */
export async function readXml(
  part: Readable,
  readers: ElementReaders,
  { countMarkup }: Pick<Parts, 'countMarkup'>,
): Promise<void> {
  const parser = sax.parser(true, OPTIONS);
  const open: (ElementReader | undefined)[] = [];
  let text = '';
  const attributeNames = new Set<string>();
  let attributeCount = 0;
  let tokenLength = 0;

  function keepText(more: string): void {
    tokenLength = 0;
    if (open.at(-1) !== undefined && text.length <= CELL_LENGTH_MAX) text += more.slice(0, CELL_LENGTH_MAX + 1);
  }

  // One by one and by name: with handlers that are assigned all at once, V8 takes twice as long over a sheet.
  /* oxlint-disable unicorn/prefer-add-event-listener -- a parser is no event target */
  parser.onerror = refuse;
  parser.ondoctype = refuse;
  parser.onopentagstart = () => {
    countMarkup();
    attributeCount = 0;
  };
  parser.onattribute = ({ name }) => {
    countMarkup();
    attributeCount += 1;
    attributeNames.add(name);
    if (attributeCount > ATTRIBUTES_MAX || attributeNames.size > ATTRIBUTE_NAMES_MAX) refuse();
  };
  parser.onopentag = ({ name, attributes }) => {
    tokenLength = 0;
    const around = open.length === 0 ? readers : open.at(-1)?.inside;
    const reader = around === undefined ? undefined : readerOf(around, localName(name));
    if (open.push(reader) > DEPTH_MAX) refuse();
    if (reader === undefined) return;
    text = '';
    reader.open?.(attributes as Attributes);
  };
  parser.ontext = keepText;
  parser.oncdata = keepText;
  parser.onclosetag = () => {
    tokenLength = 0;
    open.pop()?.close?.(text);
  };
  /* oxlint-enable unicorn/prefer-add-event-listener */

  try {
    const utf8 = new TextDecoder('utf-8', { fatal: true });
    for await (const bytes of part) {
      const piece = utf8.decode(bytes as Buffer, { stream: true });
      tokenLength += piece.length;
      parser.write(piece);
      if (tokenLength > TOKEN_LENGTH_MAX) refuse();
    }
    parser.write(utf8.decode()).close();
  } catch (error) {
    throw error instanceof UnreadableUpload ? error : damaged();
  }
}

export const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

const readerOf = (readers: ElementReaders, name: string): ElementReader | undefined => ownProperty(readers, name);

function refuse(): never {
  throw damaged();
}
