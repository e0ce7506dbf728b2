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
const NOT_ASKED: InquirySummary = { lastAskedAt: null, lastAnswer: null, inReview: false };
const ASKED: InquirySummary = {
  lastAskedAt: '2026-11-21T03:31:00.000Z',
  lastAnswer: 'processing',
  inReview: false,
};
const EN = 'The transfer of IDR 1,150,000.50 to Bank X';
const ID = 'Transfer Rp1.150.000,50 ke Bank X';
const DONE = '2026-11-21T03:05:00.000Z';

suite('the summary of a transaction', () => {
  for (const [name, changes, inquiry, en, id] of [
    [
      'overdue, accepted and asked about',
      { overdueSince: '2026-11-21T03:32:00.000Z' },
      ASKED,
      `${EN} was sent to the bank on 21 November 2026 at 10:02 WIB, was accepted by the bank, was last asked about at the bank at 10:31 WIB, and has been overdue since 10:32 WIB.`,
      `${ID} dikirim ke bank pada 21 November 2026 pukul 10.02 WIB, sudah diterima oleh bank, terakhir ditanyakan ke bank pukul 10.31 WIB, dan melewati batas waktu sejak pukul 10.32 WIB.`,
    ],
    [
      'in process, without a rail',
      { rail: null, railReference: null },
      NOT_ASKED,
      `${EN} was ordered on 21 November 2026 at 10:02 WIB, and should be done by 10:32 WIB.`,
      `${ID} dipesan pada 21 November 2026 pukul 10.02 WIB, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'in process, unknown to the bank',
      {},
      { ...ASKED, lastAnswer: 'unknown' },
      `${EN} was sent to the bank on 21 November 2026 at 10:02 WIB, is not known to the bank yet, was last asked about at the bank at 10:31 WIB, and should be done by 10:32 WIB.`,
      `${ID} dikirim ke bank pada 21 November 2026 pukul 10.02 WIB, belum dikenal oleh bank, terakhir ditanyakan ke bank pukul 10.31 WIB, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'in review',
      {},
      { ...ASKED, lastAskedAt: null, lastAnswer: 'unknown', inReview: true },
      `${EN} was sent to the bank on 21 November 2026 at 10:02 WIB, is not known to the bank, so our team is examining it with the bank, and should be done by 10:32 WIB.`,
      `${ID} dikirim ke bank pada 21 November 2026 pukul 10.02 WIB, belum dikenal oleh bank, sehingga tim kami sedang memeriksanya bersama bank, dan seharusnya selesai paling lambat pukul 10.32 WIB.`,
    ],
    [
      'arrived',
      { status: 'SUCCESS', processedAt: DONE },
      ASKED,
      `${EN} arrived on 21 November 2026 at 10:05 WIB.`,
      `${ID} sudah masuk pada 21 November 2026 pukul 10.05 WIB.`,
    ],
    [
      'returned after it had arrived',
      { status: 'SUCCESS', processedAt: DONE, bankReference: 'R-1', reversedAt: '2026-11-22T17:30:00.000Z' },
      ASKED,
      `${EN} arrived on 21 November 2026 at 10:05 WIB under the bank's reference R-1, and was returned by the bank on 23 November 2026 at 00:30 WIB.`,
      `${ID} sudah masuk pada 21 November 2026 pukul 10.05 WIB dengan referensi bank R-1, dan dikembalikan oleh bank pada 23 November 2026 pukul 00.30 WIB.`,
    ],
  ] as const satisfies readonly (readonly [string, Partial<Transaction>, InquirySummary, string, string])[]) {
    test(name, () => assert.deepEqual(supportSummary({ ...TRANSACTION, ...changes }, inquiry), { en, id }));
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
      const summary = supportSummary(failed, ASKED);
      assert.equal(summary.en, `${EN} failed on 21 November 2026 at 10:05 WIB. ${happened.en}. ${remedy.en}.`);
      assert.equal(summary.id, `${ID} gagal pada 21 November 2026 pukul 10.05 WIB. ${happened.id}. ${remedy.id}.`);
    });
  }

  // Regression: times of today had no day, so that a sentence that was sent to a customer was wrong the next morning.
  test('names the day in Jakarta once, or with each time where they are of several days', () => {
    const overdue = { ...TRANSACTION, overdueSince: '2026-11-21T03:32:00.000Z' };
    const { en, id } = supportSummary(overdue, { ...ASKED, lastAskedAt: '2026-11-21T17:00:00.000Z' });
    assert.match(
      en,
      /on 21 November 2026 at 10:02 .*at the bank on 22 November 2026 at 00:00 .*since 21 November 2026 at 10:32/,
    );
    assert.match(
      id,
      /pada 21 November 2026 pukul 10\.02 .*ke bank pada 22 November 2026 pukul 00\.00 .*sejak 21 November 2026 pukul/,
    );
  });

  /** Regression: it counted from when Tiba noticed, which may be days after the time that the client was told. */
  test('counts lateness from the time by which it was expected, where that is known', () => {
    const noticed = '2026-11-28T20:27:00.000Z';
    const { en, id } = supportSummary({ ...TRANSACTION, overdueSince: noticed }, NOT_ASKED);
    assert.match(en, /and has been overdue since 10:32 WIB\.$/);
    assert.match(id, /dan melewati batas waktu sejak pukul 10\.32 WIB\.$/);
    const unknown = supportSummary({ ...TRANSACTION, expectedBy: null, overdueSince: noticed }, NOT_ASKED);
    assert.match(unknown.en, /since 29 November 2026 at 03:27 WIB\.$/);
    // Regression: only the English sentence left its preposition out.
    assert.match(unknown.id, /sejak 29 November 2026 pukul 03\.27 WIB\.$/);
  });

  test('writes other currencies by their code', () => {
    const arrived = { ...TRANSACTION, status: 'SUCCESS', processedAt: DONE, currency: 'USD', amount: '5.00' } as const;
    const { en, id } = supportSummary(arrived, ASKED);
    assert.match(en, /USD 5\.00/);
    assert.match(id, /USD 5,00/);
  });
});
