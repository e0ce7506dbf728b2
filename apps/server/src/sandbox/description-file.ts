import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Of the latest start of the sandbox with this data directory: how programs reach it. */
export const descriptionFileIn = (dataDirectory: string): string => path.join(dataDirectory, 'sandbox.json');

/** Where its operator listener is; null where no sandbox has started. */
export async function findOperatorUrl(dataDirectory: string): Promise<string | null> {
  try {
    const description: unknown = JSON.parse(await readFile(descriptionFileIn(dataDirectory), 'utf8'));
    if (typeof description !== 'object' || description === null || !('operator_url' in description)) return null;
    return typeof description.operator_url === 'string' ? description.operator_url : null;
  } catch {
    return null;
  }
}
