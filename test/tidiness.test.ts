import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { ARCHITECTURE_RULES } from './tidiness/architecture-rules.ts';
import { statementsNameTheirClient } from './tidiness/client-rule.ts';
import { contractIsTested } from './tidiness/contract-rule.ts';
import { FORM_RULES } from './tidiness/form-rules.ts';
import { FUNCTION_LINES_MAX, findLongFunctions } from './tidiness/function-length.ts';
import { guaranteesAreHeld } from './tidiness/guarantees-rule.ts';
import { LANGUAGE_RULES } from './tidiness/language-rules.ts';
import { readRepository, withFiles } from './tidiness/repository.ts';

/** The rules of the house that a program can see. Each is also shown violations, which it must find. */

const repository = readRepository();

const PAGES = [guaranteesAreHeld, contractIsTested];

const RULES = [...ARCHITECTURE_RULES, ...LANGUAGE_RULES, ...FORM_RULES, ...PAGES, statementsNameTheirClient];

for (const { name, check, planted } of RULES) {
  suite(name, () => {
    const violations = check(repository);
    test('holds', () => assert.deepEqual(violations, []));

    for (const files of planted) {
      test(`fails with ${JSON.stringify(files).slice(0, 100)}`, () => {
        const found = check(withFiles(repository, files)).filter((violation) => !violations.includes(violation));
        assert.ok(found.length > 0, 'the planted violation was not found');
      });
    }
  });
}

/** Functions that are longer and stay so: file, how the function begins, and why. */
const LONG_FUNCTIONS: readonly { readonly file: string; readonly beginning: string; readonly reason: string }[] = [];

suite(`no function is longer than ${FUNCTION_LINES_MAX} lines`, () => {
  test('holds, but for those that are excused with a reason', () => {
    const found = findLongFunctions(['apps', 'bench', 'campaign', 'packages', 'test']);
    const isExcused = (file: string, beginning: string): boolean =>
      LONG_FUNCTIONS.some((excused) => excused.file === file && beginning.startsWith(excused.beginning));
    assert.deepEqual(
      found.filter(({ file, beginning }) => !isExcused(file, beginning)),
      [],
    );
    const unused = LONG_FUNCTIONS.filter(
      (excused) =>
        !found.some(({ file, beginning }) => file === excused.file && beginning.startsWith(excused.beginning)),
    );
    assert.deepEqual(unused, [], 'excused, but no longer too long');
  });

  test('fails with a function of one line more', () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'tiba-planted-'));
    try {
      const file = path.join(directory, 'planted.ts');
      const body = '  count += 1;\n'.repeat(FUNCTION_LINES_MAX - 1);
      writeFileSync(file, `let count = 0;\nexport function planted(): void {\n${body}}\n`);
      assert.deepEqual(
        findLongFunctions([file]).map(({ lines }) => lines),
        [FUNCTION_LINES_MAX + 1],
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
