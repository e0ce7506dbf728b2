import { writeFile } from 'node:fs/promises';
import { fileAt, renderGeneratedFiles } from './generated/files.ts';

/** `npm run generate`: rewrites every generated file. */
for (const [path, content] of Object.entries(await renderGeneratedFiles())) {
  await writeFile(fileAt(path), content);
  process.stdout.write(`${path}\n`);
}
