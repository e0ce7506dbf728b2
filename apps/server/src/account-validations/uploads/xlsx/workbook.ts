import { invalid } from '../upload.ts';
import { damaged, type Parts } from './parts.ts';
import { readRelationships } from './relationships.ts';
import { type Attributes, localName, readXml } from './xml.ts';

/** Names of the parts that are read. */
export interface Workbook {
  readonly sheet: string;
  /** Null when no cell shares its text. */
  readonly sharedStrings: string | null;
}

/** Finds the first sheet that a person who opens the workbook sees. @throws UnreadableUpload */
export async function findWorkbook(parts: Parts): Promise<Workbook> {
  const workbook = (await readRelationships(parts, '')).find(({ type }) => type === 'officeDocument')?.target;
  const part = workbook === undefined ? null : await parts.open(workbook);
  if (workbook === undefined || part === null) throw damaged();

  const visible: string[] = [];
  const sheetReader = {
    open(attributes: Attributes) {
      if ((attributes['state'] ?? 'visible') === 'visible') visible.push(relationshipIn(attributes));
    },
  };
  await readXml(part, { workbook: { inside: { sheets: { inside: { sheet: sheetReader } } } } }, parts);
  const relationships = await readRelationships(parts, workbook);
  const sheets = new Map(
    relationships.filter(({ type }) => type === 'worksheet').map(({ id, target }) => [id, target]),
  );
  // A chart may have a sheet of its own, and comes first then.
  const sheet = visible.map((id) => sheets.get(id)).find((target) => target !== undefined);
  if (sheet === undefined) throw invalid('the workbook has no sheet with cells: put the accounts on its first sheet');
  return { sheet, sharedStrings: relationships.find(({ type }) => type === 'sharedStrings')?.target ?? null };
}

/** `r:id`, whose prefix is its writer's choice. */
const relationshipIn = (attributes: Attributes): string =>
  Object.entries(attributes).find(([name]) => name.includes(':') && localName(name) === 'id')?.[1] ?? '';
