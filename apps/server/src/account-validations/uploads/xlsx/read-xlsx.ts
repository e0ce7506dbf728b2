import path from 'node:path/posix';
import type { Rows } from '../rows.ts';
import { invalid } from '../upload.ts';
import { readSharedStrings } from './cells.ts';
import { damaged, openParts, type Parts } from './parts.ts';
import { readSheet } from './sheet.ts';
import { type Attributes, localName, readXml } from './xml.ts';

/** Reads the first visible sheet of a workbook. @throws UnreadableUpload */
export async function readXlsx(body: Buffer, rows: Rows): Promise<void> {
  const parts = await openParts(body);
  const workbook = await findWorkbook(parts);
  const sharedStrings = await readSharedStrings(parts, workbook.sharedStrings);
  const sheet = await parts.open(workbook.sheet);
  if (sheet === null) throw damaged();
  await readSheet(sheet, parts, sharedStrings, rows);
}

/** The names of the parts that are read. */
interface Workbook {
  readonly sheet: string;
  /** Null when the workbook has no shared strings. */
  readonly sharedStrings: string | null;
}

/** Finds the first sheet that a user sees who opens the workbook. */
async function findWorkbook(parts: Parts): Promise<Workbook> {
  const workbook = (await readRelationships(parts, '')).find(({ type }) => type === 'officeDocument')?.target;
  const part = workbook === undefined ? null : await parts.open(workbook);
  if (workbook === undefined || part === null) throw damaged();

  const visible: string[] = [];
  const sheetReader = {
    open(attributes: Attributes) {
      if ((attributes['state'] ?? 'visible') === 'visible') visible.push(relationshipId(attributes));
    },
  };
  await readXml(part, { workbook: { inside: { sheets: { inside: { sheet: sheetReader } } } } }, parts);
  const relationships = await readRelationships(parts, workbook);
  const sheets = new Map(
    relationships.filter(({ type }) => type === 'worksheet').map(({ id, target }) => [id, target]),
  );
  // The first visible sheet may be a chart sheet, which has no cells.
  const sheet = visible.map((id) => sheets.get(id)).find((target) => target !== undefined);
  if (sheet === undefined)
    throw invalid({
      en: 'the workbook has no sheet with cells: put the accounts on its first sheet',
      id: 'buku kerja tidak memiliki lembar dengan sel: taruh rekening di lembar pertama',
    });
  return { sheet, sharedStrings: relationships.find(({ type }) => type === 'sharedStrings')?.target ?? null };
}

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
