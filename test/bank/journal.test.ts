import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { startBank } from '../../apps/bank/src/server.ts';
import { JournalError } from '../../apps/bank/src/transfers/journal.ts';
import { TRANSFER_SCENARIOS } from '../../apps/bank/src/transfers/scenario.ts';
import { openTransfers, type Transfers } from '../../apps/bank/src/transfers/transfers.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { createClock, createPartner, partnerSettings } from './partner.ts';
import { advanceClock, INTERBANK_ORDER, orderTransfer, statusOf } from './transfers.ts';

const START = '2026-11-21T10:30:24+07:00';
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31);

const folder = mkdtempSync(path.join(tmpdir(), 'tiba-bank-journal-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function newFile(): string {
  files += 1;
  return path.join(folder, `journal-${files}.ndjson`);
}

/** The transfers of a bank, without its HTTP server. */
function open(journalFile: string | null, realNow: () => number): Promise<Transfers> {
  let references = 0;
  const run = String(Math.random()).slice(2, 12);
  const nextReferenceNo = () => {
    references += 1;
    return `${run}-${references}`;
  };
  return openTransfers({ journalFile, realNow, nextReferenceNo, notify: null });
}

function accept(transfers: Transfers, partnerReferenceNo: string, ending = '0001'): string {
  const beneficiaryAccountNo = `88880100${ending}`;
  return transfers.accept({ ...INTERBANK_ORDER, service: '18', partnerReferenceNo, beneficiaryAccountNo }).kind;
}

function statusIn(transfers: Transfers, partnerReferenceNo: string): string | null {
  const transfer = transfers.find({ partnerReferenceNo, referenceNo: '' });
  return transfer === null ? null : transfers.statusOf(transfer);
}

describe('the journal', () => {
  it('restores the transfers, references and clock of a restarted bank', async () => {
    const clock = createClock(START);
    const keys = rsaKeys();
    const settings = { ...partnerSettings(keys), journalFile: newFile() };
    const first = await startBank(settings, clock.now);
    const before = createPartner(first.baseUrl, settings, keys, clock.now);
    await before.authorize();
    await orderTransfer(before, 'FAST', '4309');
    const referenceNo = await orderTransfer(before, 'SLOW "ß\n\u2028', '2030');
    const advanced = await advanceClock(first.baseUrl, 1700);
    await first.close();

    const second = await startBank(settings, clock.now);
    try {
      const partner = createPartner(second.baseUrl, settings, keys, clock.now);
      await partner.authorize();
      assert.deepEqual(await advanceClock(second.baseUrl, 0), advanced);
      assert.equal(await statusOf(partner, 'FAST'), '06 4031809');
      assert.equal(await statusOf(partner, 'SLOW "ß\n\u2028'), '03');
      await assert.rejects(orderTransfer(partner, 'FAST', '4309'), /4091801/);
      clock.advance(100_000);
      const { fields } = await partner.send('/v1.0/transfer/status', {
        originalReferenceNo: referenceNo,
        serviceCode: '18',
      });
      assert.equal(fields['latestTransactionStatus'], '00');
      assert.equal(fields['originalPartnerReferenceNo'], 'SLOW "ß\n\u2028');
    } finally {
      await second.close();
    }
  });

  it('has one line of JSON for each transfer and each advance of the clock, readable only by its owner', async () => {
    const file = newFile();
    const transfers = await open(file, createClock(START).now);
    accept(transfers, 'ONE\nTWO');
    accept(transfers, 'ONE\nTWO');
    transfers.advanceClock(0);
    transfers.advanceClock(60);
    accept(transfers, 'THREE');
    transfers.close();
    const lines = readFileSync(file, 'utf8').split('\n');
    assert.equal(lines.pop(), '');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).entry),
      ['transfer', 'push', 'transfer'],
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it('truncated at any byte restores exactly the complete lines, and appends after them', async () => {
    const file = newFile();
    const { now } = createClock(START);
    const writing = await open(file, now);
    for (const name of ['ONE', 'TWO ß']) accept(writing, name);
    writing.close();
    const whole = readFileSync(file);
    const ends = [...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([index]) => index + 1);
    assert.equal(ends.length, 2);

    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(file, whole.subarray(0, length));
      const truncated = await open(file, now);
      const known = ['ONE', 'TWO ß'].filter((name) => statusIn(truncated, name) !== null);
      assert.equal(known.length, ends.filter((end) => end <= length).length, `${length} bytes`);
      assert.equal(accept(truncated, 'NEXT'), 'accepted');
      truncated.close();
      const again = await open(file, now);
      assert.equal(statusIn(again, 'NEXT'), '03', `${length} bytes`);
      again.close();
    }
  });

  it('restores no transfer that is 31 days old', async () => {
    const file = newFile();
    const clock = createClock(START);
    const first = await open(file, clock.now);
    accept(first, 'OLD');
    first.advanceClock(60);
    accept(first, 'YOUNG');
    first.close();
    clock.advance(31 * 24 * 60 * 60 * 1000 - 60_000);
    const second = await open(file, clock.now);
    assert.equal(statusIn(second, 'OLD'), null);
    assert.equal(statusIn(second, 'YOUNG'), '00');
    second.close();
  });

  it('restores a clock that is not before the last transfer, even if the machine’s clock went back', async () => {
    const file = newFile();
    const clock = createClock(START);
    const first = await open(file, clock.now);
    first.advanceClock(60);
    accept(first, 'ONE');
    first.close();
    clock.advance(-3_600_000);
    const second = await open(file, clock.now);
    assert.equal(second.clock().nowMs, Date.parse(START) + 60_000);
    second.close();
  });

  it('rejects a file that is not a journal, and does not change it', async () => {
    const journal = newFile();
    const transfers = await open(journal, createClock(START).now);
    accept(transfers, 'ONE');
    transfers.close();
    const [line = ''] = readFileSync(journal, 'utf8').split('\n');
    for (const [content, lineNumber] of [
      ['{"client_secret":"hunter2"}', 1],
      ['{"client_secret":"hunter2"}\n', 1],
      [`${line}\n\n${line}\n`, 2],
      [`${line}\n${line.replace('"18"', '"99"')}\n`, 2],
      [`${line}\n{"entry":"push","advancedSeconds":"60"}\n`, 2],
      [`${line}\n{"entry":"other"}\n`, 2],
      ['{"entry":"'.padEnd(100_000, 'x'), 1],
      ['\0'.repeat(200_000), 1],
    ] as const) {
      const file = newFile();
      writeFileSync(file, content);
      await assert.rejects(
        open(file, Date.now),
        (error) =>
          error instanceof JournalError &&
          error.message === `Line ${lineNumber} of BANK_JOURNAL_FILE is not an entry of the simulated bank's journal.`,
        content.slice(0, 50),
      );
      assert.equal(readFileSync(file, 'utf8'), content);
    }
  });

  it('writes and reads ten thousand transfers within 10 seconds', async () => {
    const file = newFile();
    const { now } = createClock(START);
    const startedAtMs = Date.now();
    const writing = await open(file, now);
    for (let index = 0; index < 10_000; index += 1) accept(writing, `MANY-${index}`);
    writing.close();
    const reading = await open(file, now);
    assert.equal(statusIn(reading, 'MANY-9999'), '03');
    reading.close();
    assert.ok(Date.now() - startedAtMs < 10_000);
  });

  type Action =
    | { readonly kind: 'order'; readonly name: string; readonly ending: string }
    | { readonly kind: 'wait'; readonly milliseconds: number }
    | { readonly kind: 'advance'; readonly seconds: number }
    | { readonly kind: 'restart'; readonly torn: string };
  const times = fc.constantFrom(0, 1, 2, 5, 20, 59, 1799, 1800, 31 * 24 * 60 * 60);
  const actions: fc.Arbitrary<Action> = fc.oneof(
    fc.record({
      kind: fc.constant('order'),
      name: fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F'),
      ending: fc.constantFrom('0001', ...TRANSFER_SCENARIOS.map(({ ending }) => ending)),
    }),
    fc.record({ kind: fc.constant('wait'), milliseconds: times.map((seconds) => seconds * 1000 - (seconds % 2)) }),
    fc.record({ kind: fc.constant('advance'), seconds: times }),
    fc.record({ kind: fc.constant('restart'), torn: fc.constantFrom('', '{"entry":"tra', '{"entry":"push","adva') }),
  );

  it(`makes a restarted bank respond like one that never stopped (seed ${seed}; repeat with FC_SEED)`, async () => {
    const property = fc.asyncProperty(fc.array(actions, { maxLength: 25 }), async (sequence) => {
      const clock = createClock(START);
      const file = newFile();
      const uninterrupted = await open(null, clock.now);
      let restarting = await open(file, clock.now);
      for (const action of sequence) {
        if (action.kind === 'order') {
          assert.equal(
            accept(restarting, action.name, action.ending),
            accept(uninterrupted, action.name, action.ending),
          );
        } else if (action.kind === 'wait') {
          clock.advance(action.milliseconds);
        } else if (action.kind === 'advance') {
          uninterrupted.advanceClock(action.seconds);
          restarting.advanceClock(action.seconds);
        } else {
          restarting.close();
          appendFileSync(file, action.torn);
          restarting = await open(file, clock.now);
        }
        assert.deepEqual(restarting.clock(), uninterrupted.clock());
        for (const name of ['A', 'B', 'C', 'D', 'E', 'F']) {
          assert.equal(statusIn(restarting, name), statusIn(uninterrupted, name), name);
        }
      }
      restarting.close();
      uninterrupted.close();
      rmSync(file);
    });
    await fc.assert(property, { seed, numRuns: 200 });
  });
});
