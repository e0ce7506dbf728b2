import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isInstitution } from '../../apps/server/src/domain/bank.ts';
import { PROFILES } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { testBanks } from '../support/service.ts';
import { inquireAccount } from './connection.ts';
import { SNAP_BANKS, snapSettingsFor, startSnapBank } from './snap-banks.ts';

const banks = testBanks.list().filter(isInstitution);

describe("the banks' codes on a SNAP rail", () => {
  it('of seven digits exist for every bank of the directory, and identify each uniquely', async (context) => {
    const bank = await startSnapBank(context, SNAP_BANKS.midtrans);
    const rail = createSnapRail(snapSettingsFor('midtrans', bank.baseUrl));
    context.after(() => rail.close());
    assert.ok(banks.every((each) => rail.reaches(each)));
    for (const code of ['BRI', 'MANDIRI', 'BNI', 'BCA', '451']) {
      assert.equal((await inquireAccount(rail, code, '8888801234')).kind, 'verdict', code);
    }
    // The unit has its bank's clearing code and its own branch code, which this bank does not list.
    const { kind, railCode } = await inquireAccount(rail, 'SYBDIDJ1', '8888801234');
    assert.deepEqual([kind, railCode], ['no_verdict', '4001600']);
  });

  it('as clearing codes exclude sharia units, which would be inquired as their bank', async (context) => {
    const bank = await startSnapBank(context, SNAP_BANKS.aspi);
    const profile = { ...PROFILES.aspi, bankCode: { sent: 'clearing_code', echoed: 'clearing_code' } } as const;
    const rail = createSnapRail(snapSettingsFor('aspi', bank.baseUrl, { profile }));
    context.after(() => rail.close());
    for (const each of banks) assert.equal(rail.reaches(each), each.unit !== 'sharia_unit', each.bic);
    assert.equal((await inquireAccount(rail, 'BRI', '8888801234')).kind, 'verdict');
    const { kind, railCode } = await inquireAccount(rail, 'SYBDIDJ1', '8888801234');
    assert.deepEqual([kind, railCode], ['no_verdict', null]);
  });
});
