import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { createBankProcesses } from './bank-fleet.ts';
import { BANK_MAIN, bankEnvironment } from './bank-process.ts';
import { advanceClock, INTERBANK_ORDER, INTERBANK_PATH, orderTransfer, sendToClock, statusOf } from './transfers.ts';

const fleet = createBankProcesses();
after(() => fleet.endAll());

describe('a journal without room', () => {
  it('makes the bank refuse transfers and pushes, and keeps all that it had answered', async (context) => {
    if (process.platform === 'win32') return context.skip('There is no ulimit here.');
    const journal = fleet.pathOf('full.ndjson');
    writeFileSync(journal, '');
    // The unit of ulimit differs between shells: a limit of 8 units is 4 or 8 KiB, in the middle of some line.
    const child = spawn('sh', ['-c', `ulimit -f 8 && exec "$0" "$1"`, process.execPath, BANK_MAIN], {
      env: { ...bankEnvironment(fleet.keys), BANK_JOURNAL_FILE: journal },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    fleet.track(child.pid);
    const stderr = text(child.stderr);
    const [line] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
    const [baseUrl = ''] = /http:\S+/.exec(String(line)) ?? [];
    const partner = await fleet.connectPartner(baseUrl);

    const codes: unknown[] = [];
    for (let index = 0; index < 40; index += 1) {
      const order = { ...INTERBANK_ORDER, partnerReferenceNo: `T-${index}` };
      codes.push((await partner.send(INTERBANK_PATH, order)).fields['responseCode']);
    }
    const taken = codes.indexOf('5001800');
    assert.ok(taken > 5 && taken < 35, `${taken} taken`);
    assert.deepEqual(new Set(codes.slice(taken)), new Set(['5001800']));
    assert.equal(await statusOf(partner, `T-${taken - 1}`), '03');
    assert.equal(await statusOf(partner, `T-${taken}`), '4043601');
    assert.ok(readFileSync(journal, 'utf8').endsWith('}\n'), 'no torn line is left');

    // A push takes less room than a transfer: some may still fit.
    let pushed = 0;
    while ((await sendToClock(baseUrl, '{"advance_seconds":1}')).status === 200) pushed += 1;
    assert.ok(pushed < 40);
    assert.equal((await advanceClock(baseUrl, 0)).advanced_seconds, pushed);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.match(await stderr, /^The simulated bank cannot write to BANK_JOURNAL_FILE: /);

    const again = await fleet.start({ BANK_JOURNAL_FILE: journal });
    assert.equal((await advanceClock(again.baseUrl, 0)).advanced_seconds, pushed);
    assert.notEqual(await statusOf(again.partner, `T-${taken - 1}`), '4043601');
    await orderTransfer(again.partner, `T-${taken}`, '0001');
    await fleet.kill(again);
  });
});

describe('a journal that cannot be used', () => {
  it('keeps the bank from starting, which says why in one line and exits with 1', async () => {
    const other = fleet.pathOf('other.txt');
    writeFileSync(other, 'my diary\n');
    for (const [file, sentence] of [
      [path.dirname(other), /^The simulated bank cannot use BANK_JOURNAL_FILE: EISDIR.*\n$/],
      [fleet.pathOf('missing/journal'), /^The simulated bank cannot use BANK_JOURNAL_FILE: ENOENT.*\n$/],
      [other, /^Line 1 of BANK_JOURNAL_FILE is not an entry of the simulated bank's journal\.\n$/],
    ] as const) {
      const child = spawn(process.execPath, [BANK_MAIN], {
        env: { ...bankEnvironment(fleet.keys), BANK_JOURNAL_FILE: file },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      fleet.track(child.pid);
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      assert.equal(code, 1);
      assert.match(stderr, sentence);
    }
    assert.equal(readFileSync(other, 'utf8'), 'my diary\n');
  });
});
