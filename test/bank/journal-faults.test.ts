import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { BANK_MAIN, bankEnvironment, createBankProcesses } from './bank-process.ts';
import { advanceClock, INTERBANK_ORDER, INTERBANK_PATH, orderTransfer, sendToClock, statusOf } from './transfers.ts';

const banks = createBankProcesses();
after(() => banks.killAll());

describe('a journal on a full disk', () => {
  it('makes the bank reject transfers and clock advances, and retains every accepted transfer', async (context) => {
    if (process.platform === 'win32') return context.skip('ulimit is not available on Windows.');
    const journal = banks.pathOf('full.ndjson');
    writeFileSync(journal, '');
    // The unit of ulimit differs between shells: a limit of 8 units is 4 or 8 KiB, which ends within a line.
    const child = spawn('sh', ['-c', `ulimit -f 8 && exec "$0" "$1"`, process.execPath, BANK_MAIN], {
      env: { ...bankEnvironment(banks.keys), BANK_JOURNAL_FILE: journal },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    banks.track(child.pid);
    const stderr = text(child.stderr);
    const [line] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
    const [baseUrl = ''] = /http:\S+/.exec(String(line)) ?? [];
    const partner = await banks.connectPartner(baseUrl);

    const codes: unknown[] = [];
    for (let index = 0; index < 40; index += 1) {
      const order = { ...INTERBANK_ORDER, partnerReferenceNo: `T-${index}` };
      codes.push((await partner.send(INTERBANK_PATH, order)).fields['responseCode']);
    }
    const accepted = codes.indexOf('5001800');
    assert.ok(accepted > 5 && accepted < 35, `${accepted} accepted`);
    assert.deepEqual(new Set(codes.slice(accepted)), new Set(['5001800']));
    assert.equal(await statusOf(partner, `T-${accepted - 1}`), '03');
    assert.equal(await statusOf(partner, `T-${accepted}`), '4043601');
    assert.ok(readFileSync(journal, 'utf8').endsWith('}\n'), 'the file has no incomplete line');

    // The entry of an advance is shorter than that of a transfer: some may still fit.
    let advancedSeconds = 0;
    while ((await sendToClock(baseUrl, '{"advance_seconds":1}')).status === 200) advancedSeconds += 1;
    assert.ok(advancedSeconds < 40);
    assert.equal((await advanceClock(baseUrl, 0)).advanced_seconds, advancedSeconds);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.match(await stderr, /^The simulated bank cannot write to BANK_JOURNAL_FILE: /);

    const restarted = await banks.start({ BANK_JOURNAL_FILE: journal });
    assert.equal((await advanceClock(restarted.baseUrl, 0)).advanced_seconds, advancedSeconds);
    assert.notEqual(await statusOf(restarted.partner, `T-${accepted - 1}`), '4043601');
    await orderTransfer(restarted.partner, `T-${accepted}`, '0001');
    await banks.kill(restarted);
  });
});

describe('a journal that cannot be used', () => {
  it('stops the bank at start with exit code 1 and one line that gives the reason', async () => {
    const other = banks.pathOf('other.txt');
    writeFileSync(other, 'my diary\n');
    for (const [file, sentence] of [
      [path.dirname(other), /^The simulated bank cannot use BANK_JOURNAL_FILE: EISDIR.*\n$/],
      [banks.pathOf('missing/journal'), /^The simulated bank cannot use BANK_JOURNAL_FILE: ENOENT.*\n$/],
      [other, /^Line 1 of BANK_JOURNAL_FILE is not an entry of the simulated bank's journal\.\n$/],
    ] as const) {
      const child = spawn(process.execPath, [BANK_MAIN], {
        env: { ...bankEnvironment(banks.keys), BANK_JOURNAL_FILE: file },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      banks.track(child.pid);
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      assert.equal(code, 1);
      assert.match(stderr, sentence);
    }
    assert.equal(readFileSync(other, 'utf8'), 'my diary\n');
  });
});
