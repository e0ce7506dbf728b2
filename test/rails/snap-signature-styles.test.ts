import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIGNATURE_STYLES, type SignatureStyle } from '../../apps/bank/src/snap/signature.ts';
import type { SnapProfile } from '../../apps/server/src/rails/snap/profiles/profile.ts';
import { PROFILES } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { inquireAccount } from './connection.ts';
import { SNAP_BANKS, snapSettingsFor, startSnapBank } from './snap-banks.ts';

const SIGNATURES: Readonly<Record<SignatureStyle, SnapProfile['signature']>> = {
  'symmetric-base64': { kind: 'symmetric', encoding: 'base64' },
  'symmetric-hex': { kind: 'symmetric', encoding: 'hex' },
  'asymmetric-base64': { kind: 'asymmetric', encoding: 'base64' },
  'asymmetric-hex': { kind: 'asymmetric', encoding: 'hex' },
};

describe('a bank that requires the signature style', () => {
  for (const wanted of SIGNATURE_STYLES) {
    it(`${wanted} accepts that style and rejects the others`, async (context) => {
      const bank = await startSnapBank(context, SNAP_BANKS.bri, { signature: wanted });
      for (const style of SIGNATURE_STYLES) {
        const profile = { ...PROFILES.bri, signature: SIGNATURES[style] };
        const rail = createSnapRail(snapSettingsFor('bri', bank.baseUrl, { profile }));
        context.after(() => rail.close());
        const outcomes = [
          await inquireAccount(rail, 'BNI', '8888801234'),
          await inquireAccount(rail, 'BRI', '888801000157508'),
        ];
        for (const { kind, railCode } of outcomes) {
          if (style === wanted) assert.equal(kind, 'verdict', String(railCode));
          else assert.match(`${kind} ${railCode}`, /^no_verdict 40[01]1[56]0[02]$/, style);
        }
      }
    });
  }
});
