import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { FAILURE_REASON_CODES, FAILURE_REASONS, publishedReason } from '../../apps/server/src/domain/failure-reason.ts';
import { type InquirySummary, supportSummary } from '../../apps/server/src/domain/support-summary.ts';
import type { Transaction } from '../../apps/server/src/domain/transaction.ts';

const TRANSACTION: Transaction = {
  clientId: 'shop-one',
  transactionId: 'TB0000000001',
  referenceId: 'INV/1',
  status: 'PROCESS',
  amount: '1150000.50',
  fee: '2500.00',
  currency: 'IDR',
  bankCode: '014',
  bankName: 'Bank X',
  accountNumber: '1234567890',
  accountName: 'BUDI SANTOSO',
  description: '',
  createdAt: '2026-11-21T03:02:00.000Z',
  processedAt: null,
  failureReason: null,
  version: 1,
  rail: 'bank-x',
  railReference: 'P1',
  reversedAt: null,
  sourceAccountNumber: null,
  serviceCode: null,
  externalId: null,
  bankReference: null,
  expectedBy: '2026-11-21T03:32:00.000Z',
  overdueSince: null,
};
const NOT_ASKED: InquirySummary = { inquiries: 0, lastAskedAt: null, lastAnswer: null, inReview: false };
const ASKED: InquirySummary = {
  inquiries: 4,
  lastAskedAt: '2026-11-21T03:31:00.000Z',
  lastAnswer: 'processing',
  inReview: false,
};
const TODAY = Date.parse('2026-11-21T04:00:00Z');
const EN = 'The transfer of IDR 1,150,000.50 to Bank X';
const ID = 'Transfer Rp1.150.000,50 ke Bank X';
const DONE = '2026-11-21T03:05:00.000Z';

suite('the summary of a transaction', () => {
  for (const [name, changes, inquiry, en, id] of [
    [
      'overdue, accepted and asked about',
      { overdueSince: '2026-11-21T03:32:00.000Z' },
      ASKED,
      `${EN} was sent to the bank at 10:02 WIB, was accepted by the bank, was asked about at the bank 4 times, last at 10:31 WIB, and has been overdue since 10:32 WIB.`,
      `${ID} dikirim ke bank pukul 10.02 WIB, sudah diterima oleh bank, sudah 4 kali ditanyakan ke bank, terakhir pukul 10.31 WIB, dan melewati batas waktu sejak pukul 10.32 WIB.`,
    ],
    [
      'in process, without a rail',
      { rail: null, railReference: null },
      NOT_ASKED,
      `${EN} was ordered at 10:02 WIB, and should be done by 10:32 WIB.`,
      `${ID} dipesan pukul 10.02 WIB, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'in process, unknown to the bank',
      {},
      { ...ASKED, inquiries: 1, lastAnswer: 'unknown' },
      `${EN} was sent to the bank at 10:02 WIB, is not known to the bank yet, was asked about at the bank once, last at 10:31 WIB, and should be done by 10:32 WIB.`,
      `${ID} dikirim ke bank pukul 10.02 WIB, belum dikenal oleh bank, sudah 1 kali ditanyakan ke bank, terakhir pukul 10.31 WIB, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'in review',
      {},
      { ...ASKED, lastAskedAt: null, lastAnswer: 'unknown', inReview: true },
      `${EN} was sent to the bank at 10:02 WIB, is not known to the bank, so our team is examining it with the bank, was asked about at the bank 4 times, and should be done by 10:32 WIB.`,
      `${ID} dikirim ke bank pukul 10.02 WIB, belum dikenal oleh bank, sehingga tim kami sedang memeriksanya bersama bank, sudah 4 kali ditanyakan ke bank, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'arrived',
      { status: 'SUCCESS', processedAt: DONE },
      ASKED,
      `${EN} arrived at 10:05 WIB.`,
      `${ID} sudah masuk pukul 10.05 WIB.`,
    ],
    [
      'returned after it had arrived',
      { status: 'SUCCESS', processedAt: DONE, bankReference: 'R-1', reversedAt: '2026-11-22T17:30:00.000Z' },
      ASKED,
      `${EN} arrived at 10:05 WIB under the bank's reference R-1, and was returned by the bank on 23 November 2026 at 00:30 WIB.`,
      `${ID} sudah masuk pukul 10.05 WIB dengan referensi bank R-1, dan dikembalikan oleh bank pada 23 November 2026 pukul 00.30 WIB.`,
    ],
  ] as const satisfies readonly (readonly [string, Partial<Transaction>, InquirySummary, string, string])[]) {
    test(name, () => assert.deepEqual(supportSummary({ ...TRANSACTION, ...changes }, inquiry, TODAY), { en, id }));
  }

  for (const reason of FAILURE_REASON_CODES) {
    test(`failed: ${reason}`, () => {
      const failed = {
        ...TRANSACTION,
        status: 'FAILED',
        processedAt: DONE,
        failureReason: publishedReason(reason),
      } as const;
      const { happened, remedy } = FAILURE_REASONS[reason];
      const summary = supportSummary(failed, ASKED, TODAY);
      assert.equal(summary.en, `${EN} failed at 10:05 WIB. ${happened.en}. ${remedy.en}.`);
      assert.equal(summary.id, `${ID} gagal pukul 10.05 WIB. ${happened.id}. ${remedy.id}.`);
    });
  }

  test('names the day unless it is today in Jakarta', () => {
    const arrived = { ...TRANSACTION, status: 'SUCCESS', processedAt: DONE } as const;
    const { en, id } = supportSummary(arrived, ASKED, Date.parse('2026-11-21T17:00:00Z'));
    assert.equal(en, `${EN} arrived on 21 November 2026 at 10:05 WIB.`);
    assert.equal(id, `${ID} sudah masuk pada 21 November 2026 pukul 10.05 WIB.`);
    const foreign = supportSummary({ ...arrived, currency: 'USD', amount: '5.00' }, ASKED, TODAY);
    assert.match(foreign.en, /USD 5\.00/);
    assert.match(foreign.id, /USD 5,00/);
  });
});
