import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileAt, renderGeneratedFiles } from './files.ts';

test('the checked-in generated files are what the code generates', async (t) => {
  for (const [path, content] of Object.entries(await renderGeneratedFiles())) {
    await t.test(path, async () => {
      const checkedIn = await readFile(fileAt(path), 'utf8').catch(() => '');
      assert.equal(checkedIn, content, `${path} is out of date: run npm run generate`);
    });
  }
});
