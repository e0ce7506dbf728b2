// What must hold between a rail with some profile and the strict bank that the profile is of.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Bank } from '../../apps/server/src/domain/bank.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { profileFaults } from '../../apps/server/src/rails/snap/profile-fields.ts';
import type { SnapProfile } from '../../apps/server/src/rails/snap/profiles/profile.ts';
import type { ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import type { SnapChoices } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { createSnapTransfers } from '../../apps/server/src/rails/snap/transfers.ts';
import { inquireAccount, inquireStatus, inquiryOf, transferTo } from './connection.ts';
import { type Fault, startFaultyBankProxy } from './faulty-bank-proxy.ts';
import { startScriptedBank } from './scripted-bank.ts';
import { SNAP_BANKS, type SnapBankRoute, snapSettingsFor, startSnapBank } from './snap-banks.ts';

/** Rejects when it does not hold. */
export type Check = (profile: SnapProfile) => Promise<void>;

/** The simulated bank's accounts, by their last four digits (docs/simulated-bank.md). */
const ACTIVE = '1234';
const CLOSED = '0410';
const LIMIT = '0429';

/** Every check of this bank by its name. The bank, and a liar before it, are closed with the test. */
export async function startChecks(context: TestContext, name: ProfileName): Promise<Map<string, Check>> {
  const facts = SNAP_BANKS[name];
  const { own, other } = facts;
  const [firstRoute = ''] = Object.keys(facts.routes);
  const bank = await startSnapBank(context, facts);
  const liar = await startFaultyBankProxy(context, bank.baseUrl, (path) => path.includes('/account-inquiry'));
  const scripted = await startScriptedBank();
  context.after(() => scripted.close());
  let references = 0;

  function choicesOf(route: string): SnapChoices {
    return { route, routeParameters: facts.routes[route]?.parameters ?? {} };
  }

  async function onRail(
    profile: SnapProfile,
    use: (rail: Rail) => Promise<void>,
    choices: SnapChoices = choicesOf(firstRoute),
    baseUrl = bank.baseUrl,
  ): Promise<void> {
    const rail = createSnapRail(snapSettingsFor(name, baseUrl, { profile, choices }));
    try {
      await use(rail);
    } finally {
      await rail.close();
    }
  }

  async function isNotAsked(rail: Rail, code: string, digits: number): Promise<void> {
    // No account number is longer than SNAP allows, or shorter than the service does.
    if (digits > 34 || digits < 5) return;
    const outcome = await inquireAccount(rail, code, account(digits));
    assert.deepEqual(outcome, { kind: 'no_verdict', reason: 'rejected_by_bank', railCode: null });
  }

  async function isDisbelieved(rail: Rail, lie: (fields: Record<string, unknown>) => object): Promise<void> {
    liar.fault = rewrittenJson(lie);
    try {
      const outcome = await inquireAccount(rail, other, account(10));
      assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : outcome.kind, 'invalid_response');
    } finally {
      liar.fault = null;
    }
  }

  /** Ordered and then asked about, under a number that no other has. */
  async function transfers(profile: SnapProfile, code: string): Promise<void> {
    references += 1;
    const reference = `${1_000_000 + references}`;
    const { bank: recipient } = inquiryOf(code, account(10));
    const accepted = await orderTransfer(profile, recipient, reference);
    assert.equal(accepted, 'accepted');
    await onRail(profile, async (rail) => {
      const outcome = await inquireStatus(rail, transferTo(code, { ...inquiryOf(code, account(10)), reference }));
      assert.equal(outcome.kind, 'status', JSON.stringify(outcome));
    });
  }

  async function orderTransfer(profile: SnapProfile, recipient: Bank, partnerReferenceNo: string): Promise<string> {
    const core = createSnapTransfers(snapSettingsFor(name, bank.baseUrl, { profile }));
    const order = {
      partnerReferenceNo,
      amount: '150000.00',
      bank: recipient,
      accountNumber: account(10),
      accountName: 'BUDI SANTOSO',
      createdAt: '2026-11-21T04:32:26.123Z',
    };
    try {
      return (await core.order(order)).kind;
    } finally {
      await core.close();
    }
  }

  const checks = new Map<string, Check>([
    [
      'the own account',
      (profile) =>
        onRail(profile, async (rail) => {
          const outcome = await inquireAccount(rail, own.code, account(10));
          assert.deepEqual([labelOf(outcome), outcome.railCode], ['ACTIVE', own.success]);
        }),
    ],
    [
      'lengths of own accounts',
      (profile) =>
        onRail(profile, async (rail) => {
          const [min, max] = own.digits;
          for (const digits of own.digits) {
            assert.equal((await inquireAccount(rail, own.code, account(digits))).kind, 'verdict', `${digits} digits`);
          }
          await isNotAsked(rail, own.code, min - 1);
          await isNotAsked(rail, own.code, max + 1);
        }),
    ],
    [
      'a closed account',
      (profile) =>
        onRail(profile, async (rail) => {
          const outcome = await inquireAccount(rail, other, account(10, CLOSED));
          assert.equal(labelOf(outcome), facts.verdicts.INACTIVE);
          assert.equal(rail.distinguishesClosed, facts.verdicts.INACTIVE !== 'NOT_FOUND');
        }),
    ],
    [
      'the limit of questions',
      (profile) =>
        onRail(profile, async (rail) =>
          assert.equal(labelOf(await inquireAccount(rail, other, account(10, LIMIT))), 'throttled'),
        ),
    ],
    [
      'an answer to another question',
      (profile) =>
        onRail(
          profile,
          async (rail) => {
            assert.equal(labelOf(await inquireAccount(rail, other, account(10))), 'ACTIVE');
            await isDisbelieved(rail, (fields) => ({ ...fields, partnerReferenceNo: '1' }));
          },
          choicesOf(firstRoute),
          liar.baseUrl,
        ),
    ],
    ['a transfer within the bank', (profile) => transfers(profile, own.code)],
    ['a transfer to another bank', (profile) => transfers(profile, other)],
    [
      'transfers of which the external id is unknown',
      (profile) =>
        onRail(profile, async ({ inquireStatus }) => assert.equal(inquireStatus === undefined, facts.needsExternalId), {
          ...choicesOf(firstRoute),
          externalIdIsReference: false,
        }),
    ],
    [
      'lengths of the partner id',
      async (profile) => {
        const faults = (length: number): string[] =>
          profileFaults(profile, choicesOf(firstRoute), 'T'.repeat(length), facts.channelId || undefined);
        assert.deepEqual(faults(facts.partnerIdLengthMax), []);
        assert.equal(faults(facts.partnerIdLengthMax + 1).length, 1);
      },
    ],
  ]);

  for (const [route, { digitsMax, wrong, confirmed, switcher }] of Object.entries(facts.routes)) {
    const choices = choicesOf(route);
    checks.set(`another bank's account by ${route}`, (profile) =>
      onRail(
        profile,
        async (rail) => assert.equal(labelOf(await inquireAccount(rail, other, account(10))), 'ACTIVE'),
        choices,
      ),
    );
    checks.set(`lengths of accounts by ${route}`, (profile) =>
      onRail(
        profile,
        async (rail) => {
          assert.equal(labelOf(await inquireAccount(rail, other, account(digitsMax))), 'ACTIVE');
          await isNotAsked(rail, other, digitsMax + 1);
        },
        choices,
      ),
    );
    for (const [parameter, value] of Object.entries(wrong)) {
      checks.set(`a wrong ${parameter} for ${route}`, async (profile) => {
        const routeParameters = { ...choices.routeParameters, [parameter]: value };
        const faults = profileFaults(profile, { route, routeParameters }, 'T', facts.channelId || undefined);
        assert.match(faults.join(), new RegExp(`^route_parameters\\.${parameter} `));
      });
    }
    if (switcher !== undefined) {
      checks.set(`the switcher of ${route}`, (profile) =>
        onRail(
          profile,
          async (rail) => {
            await inquireAccount(rail, other, account(10));
            const said = JSON.parse(scripted.inquiries.at(-1)?.body ?? '{}');
            assert.equal(said.additionalInfo?.switcher, switcher);
          },
          choices,
          scripted.baseUrl,
        ),
      );
    }
    if (confirmed !== undefined) checks.set(`a success that is none by ${route}`, (p) => denied(p, choices, confirmed));
  }
  return checks;

  async function denied(
    profile: SnapProfile,
    choices: SnapChoices,
    { by, instead }: NonNullable<SnapBankRoute['confirmed']>,
  ): Promise<void> {
    await onRail(
      profile,
      (rail) => isDisbelieved(rail, (fields) => JSON.parse(JSON.stringify(fields).replace(`"${by}"`, `"${instead}"`))),
      choices,
      liar.baseUrl,
    );
  }
}

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

/** An account of so many digits; five are the fewest. */
const account = (digits: number, ending = ACTIVE): string => `${'8'.repeat(digits - 4)}${ending}`;

const rewrittenJson =
  (lie: (fields: Record<string, unknown>) => object): Fault =>
  ({ status, body }, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(lie(JSON.parse(body.toString()))));
