import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROFILES, type ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import { SNAP_BANKS } from './snap-banks.ts';
import { startChecks } from './snap-profile-checks.ts';
import { mutationsOf, rulesOf } from './snap-profile-mutations.ts';

const NEGATIVE: ReadonlySet<unknown> = new Set(['NOT_FOUND', 'INACTIVE', 'BLOCKED']);

for (const name of Object.keys(PROFILES) as ProfileName[]) {
  test(`between a rail with the profile ${name} and a bank with the profile ${SNAP_BANKS[name].profile}`, async (context) => {
    const checks = await startChecks(context, name);

    for (const [what, check] of checks) {
      await context.test(`${what}: the exchange works`, () => check(PROFILES[name]));
    }

    for (const path of rulesOf(PROFILES[name])) {
      const rule = path.join('.');
      const mutations = mutationsOf(name, path);
      await context.test(`the rule ${rule} has a replacement`, () =>
        assert.ok(mutations.length > 0, 'there is no replacement for it'),
      );
      for (const { what, profile, breaks } of mutations) {
        await context.test(`it fails when ${rule} ${what}: ${breaks}`, async () => {
          const check = checks.get(breaks);
          assert.ok(check !== undefined, `there is no check ${breaks}`);
          await assert.rejects(
            async () => check(profile),
            // The bank's rejection must not become a verdict on the account.
            (error: { actual?: unknown }) => !breaks.startsWith('another bank') || !NEGATIVE.has(error.actual),
          );
        });
      }
    }
  });
}
