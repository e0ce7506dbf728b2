import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { maskName } from '../../apps/server/src/domain/account.ts';
import { readSearchText } from '../../apps/server/src/http/operator/transactions/search-text.ts';

suite('what a pasted text may be', () => {
  for (const [text, expected] of [
    ['TB2026112100000001', { identifiers: ['TB2026112100000001'] }],
    [' tb2026112100000001 ', { identifiers: ['tb2026112100000001', 'TB2026112100000001'] }],
    ['INV/2026/001', { identifiers: ['INV/2026/001'] }],
    ['1234567890', { identifiers: ['1234567890'], accountNumbers: ['1234567890'], amount: null }],
    ['123456789', { accountNumbers: ['123456789'], amount: '123456789.00' }],
    ['Rp1234567890', { accountNumbers: null, amount: '1234567890.00' }],
    ['1.234.567.890', { accountNumbers: ['1234567890'], amount: '1234567890.00' }],
    ['0012345678', { identifiers: ['0012345678'], accountNumbers: ['0012345678'] }],
    ['123-456-7890', { identifiers: ['123-456-7890'], accountNumbers: ['1234567890'] }],
    ['+62 812-3456-789', { identifiers: ['+62 812-3456-789'], accountNumbers: ['08123456789', '628123456789'] }],
    ['150000', { identifiers: ['150000'], accountNumbers: ['150000'], amount: '150000.00' }],
    ['150000.5', { amount: '150000.50' }],
    ['150.000', { amount: '150000.00' }],
    ['150.000,00', { identifiers: ['150.000,00'], accountNumbers: null, amount: '150000.00' }],
    ['150,000.00', { accountNumbers: null, amount: '150000.00' }],
    ['Rp 150.000', { identifiers: null, accountNumbers: null, amount: '150000.00', requestId: null }],
    ['Rp150.000,-', { amount: '150000.00' }],
    ['IDR 1,250,000', { amount: '1250000.00' }],
    ['1.25.000', { amount: null }],
    ['0', { amount: null, accountNumbers: null }],
    ['q2Zs8mJ4nT1v-17', { identifiers: ['q2Zs8mJ4nT1v-17'], requestId: 'q2Zs8mJ4nT1v-17', amount: null }],
    ['', { identifiers: null, accountNumbers: null, amount: null, requestId: null }],
    ['a\nb', { identifiers: null, accountNumbers: null, amount: null, requestId: null }],
  ] as const) {
    test(JSON.stringify(text), () => {
      const read = readSearchText(text);
      assert.deepEqual({ ...read, ...expected }, read);
    });
  }
});

test('a masked name shows the first letter of each word', () => {
  assert.equal(maskName('BUDI SANTOSO'), 'B*** S******');
  assert.equal(maskName('PT Ábc-d'), 'P* Á****');
  assert.equal(maskName('I'), '*');
  assert.equal(maskName('A. BUDI S'), 'A* B*** *');
});
