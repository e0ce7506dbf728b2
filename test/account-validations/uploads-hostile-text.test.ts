import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { assertRejectedSafely, createTestReader, MIB } from './hostile-upload.ts';
import { CSV_TYPE, JSON_TYPE } from './uploads.ts';

const reader = createTestReader();
after(() => reader.close());

describe('JSON', () => {
  it('with millions of values, or nested very deeply, is rejected', async () => {
    const many = `{"accounts":[${'0,'.repeat(8 * MIB - 10)}0]}`;
    assert.match(await assertRejectedSafely(reader, JSON_TYPE, many, 'PAYLOAD_TOO_LARGE'), /far more values/);
    await assertRejectedSafely(reader, JSON_TYPE, `{"accounts":${'['.repeat(900_000)}${']'.repeat(900_000)}}`);
    await assertRejectedSafely(reader, JSON_TYPE, '{"accounts":'.repeat(900_000));
  });
});

describe('CSV', () => {
  const header = 'bank_code,account_number\n';
  it('with millions of cells, or of characters in a cell, is rejected', async () => {
    await assertRejectedSafely(reader, CSV_TYPE, header + ','.repeat(16 * MIB - 30), 'PAYLOAD_TOO_LARGE');
    await assertRejectedSafely(reader, CSV_TYPE, `${header}"${'1'.repeat(16 * MIB - 30)}`);
    await assertRejectedSafely(reader, CSV_TYPE, '"'.repeat(16 * MIB));
  });
});
