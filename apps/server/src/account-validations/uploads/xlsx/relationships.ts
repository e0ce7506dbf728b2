import path from 'node:path/posix';
import type { Parts } from './parts.ts';
import { type Attributes, readXml } from './xml.ts';

/** How a part names others (ECMA-376, part 2, section 6.5). */
export interface Relationship {
  readonly id: string;
  /** The last word of its type, which is the same in both editions of the standard: 'worksheet'. */
  readonly type: string;
  /** The name of the other part. */
  readonly target: string;
}

/** Of a part, or of the whole workbook, whose name is ''. */
export async function readRelationships(parts: Parts, partName: string): Promise<readonly Relationship[]> {
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
