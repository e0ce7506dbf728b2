import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { assertHarmless, createTestReader, MIB } from './harmless.ts';
import { CSV_TYPE, JSON_TYPE } from './uploads.ts';

const reader = createTestReader();
after(() => reader.close());

describe('JSON', () => {
  it('of millions of values, or nested without end, is refused', async () => {
    const many = `{"accounts":[${'0,'.repeat(8 * MIB - 10)}0]}`;
    assert.match(await assertHarmless(reader, JSON_TYPE, many, 'PAYLOAD_TOO_LARGE'), /far more values/);
    await assertHarmless(reader, JSON_TYPE, `{"accounts":${'['.repeat(900_000)}${']'.repeat(900_000)}}`);
    await assertHarmless(reader, JSON_TYPE, '{"accounts":'.repeat(900_000));
  });
});

describe('CSV', () => {
  const header = 'bank_code,account_number\n';
  it('of millions of cells, or of characters in a cell, is refused', async () => {
    await assertHarmless(reader, CSV_TYPE, header + ','.repeat(16 * MIB - 30), 'PAYLOAD_TOO_LARGE');
    await assertHarmless(reader, CSV_TYPE, `${header}"${'1'.repeat(16 * MIB - 30)}`);
    await assertHarmless(reader, CSV_TYPE, '"'.repeat(16 * MIB));
  });
});
