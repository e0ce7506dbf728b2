import path from 'node:path/posix';
import type { BilingualText } from '../../../lib/bilingual-text.ts';
import { invalid } from '../upload.ts';
import { readSharedStrings } from './cells.ts';
import { damaged, openParts, type Parts, type WorkbookLimits } from './parts.ts';
import { type OnRow, readSheet } from './sheet.ts';
import { type Attributes, localName, readXml } from './xml.ts';

export interface WorkbookOptions {
  readonly limits: WorkbookLimits;
  /** The name of the sheet; null for the first visible one. */
  readonly sheet: string | null;
}

/** Reads one sheet of a workbook, row by row. @throws UnreadableUpload */
export async function readWorkbook(
  body: Buffer,
  { limits, sheet: name }: WorkbookOptions,
  onRow: OnRow,
): Promise<void> {
  const parts = await openParts(body, limits);
  const workbook = await findWorkbook(parts, name);
  const sharedStrings = await readSharedStrings(parts, workbook.sharedStrings);
  const sheet = await parts.open(workbook.sheet);
  if (sheet === null) throw damaged();
  await readSheet(sheet, parts, sharedStrings, onRow);
}

/** The names of the parts that are read. */
interface Workbook {
  readonly sheet: string;
  /** Null when the workbook has no shared strings. */
  readonly sharedStrings: string | null;
}

/** Finds the sheet with the name or, for null, the first one that a user sees who opens the workbook. */
async function findWorkbook(parts: Parts, name: string | null): Promise<Workbook> {
  const workbook = (await readRelationships(parts, '')).find(({ type }) => type === 'officeDocument')?.target;
  const part = workbook === undefined ? null : await parts.open(workbook);
  if (workbook === undefined || part === null) throw damaged();

  const candidates: string[] = [];
  const sheetReader = {
    open(attributes: Attributes) {
      const isVisible = (attributes['state'] ?? 'visible') === 'visible';
      if (name === null ? isVisible : attributes['name'] === name) candidates.push(relationshipId(attributes));
    },
  };
  await readXml(part, { workbook: { inside: { sheets: { inside: { sheet: sheetReader } } } } }, parts);
  const relationships = await readRelationships(parts, workbook);
  const sheets = new Map(
    relationships.filter(({ type }) => type === 'worksheet').map(({ id, target }) => [id, target]),
  );
  // The first visible sheet may be a chart sheet, which has no cells.
  const sheet = candidates.map((id) => sheets.get(id)).find((target) => target !== undefined);
  if (sheet === undefined) throw invalid(name === null ? NO_SHEET : NO_SUCH_SHEET);
  return { sheet, sharedStrings: relationships.find(({ type }) => type === 'sharedStrings')?.target ?? null };
}

const NO_SHEET: BilingualText = {
  en: 'the workbook has no sheet with cells: put the accounts on its first sheet',
  id: 'buku kerja tidak memiliki lembar dengan sel: taruh rekening di lembar pertama',
};
const NO_SUCH_SHEET: BilingualText = {
  en: 'the workbook has no sheet with this name',
  id: 'buku kerja tidak memiliki lembar dengan nama ini',
};

/** The attribute `r:id`. The writer of the workbook chooses the prefix. */
const relationshipId = (attributes: Attributes): string =>
  Object.entries(attributes).find(([name]) => name.includes(':') && localName(name) === 'id')?.[1] ?? '';

/** A reference from one part to another (ECMA-376, part 2, section 6.5). */
interface Relationship {
  readonly id: string;
  /** The last segment of its type, which is the same in both editions of the standard: 'worksheet'. */
  readonly type: string;
  /** The name of the other part. */
  readonly target: string;
}

/** The relationships of a part; of the whole package when `partName` is ''. */
async function readRelationships(parts: Parts, partName: string): Promise<readonly Relationship[]> {
  const { dir, base } = path.parse(partName);
  const part = await parts.open(path.join(dir, '_rels', `${base}.rels`));
  const relationships: Relationship[] = [];
  if (part === null) return relationships;
  const relationship = {
    open({ Id = '', Type = '', Target = '' }: Attributes) {
      relationships.push({ id: Id, type: path.basename(Type), target: path.resolve('/', dir, Target).slice(1) });
    },
  };
  await readXml(part, { Relationships: { inside: { Relationship: relationship } } }, parts);
  return relationships;
}
