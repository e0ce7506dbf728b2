// What must hold between a rail with some profile and the strict bank of that profile.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Bank } from '../../apps/server/src/domain/bank.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { aliasFaults, profileFaults } from '../../apps/server/src/rails/snap/profile-fields.ts';
import type { SnapProfile } from '../../apps/server/src/rails/snap/profiles/profile.ts';
import type { ProfileName } from '../../apps/server/src/rails/snap/profiles/profiles.ts';
import type { SnapChoices } from '../../apps/server/src/rails/snap/settings.ts';
import { createSnapRail } from '../../apps/server/src/rails/snap/snap-rail.ts';
import { createSnapTransfers } from '../../apps/server/src/rails/snap/transfers.ts';
import { inquireAccount, inquireAlias, inquireStatus, inquiryOf, transferTo } from './connection.ts';
import { type Fault, type FaultyBankProxy, startFaultyBankProxy } from './faulty-bank-proxy.ts';
import { type ScriptedBank, startScriptedBank } from './scripted-bank.ts';
import { SNAP_BANKS, type SnapBank, type SnapBankRoute, snapSettingsFor, startSnapBank } from './snap-banks.ts';

/** Rejects when the profile does not fit the bank. */
export type Check = (profile: SnapProfile) => Promise<void>;

/** The simulated bank's accounts, by their last four digits (docs/simulated-bank.md). */
const ACTIVE = '1234';
const CLOSED = '0410';
const LIMIT = '0429';

interface CheckContext {
  readonly name: ProfileName;
  readonly facts: SnapBank;
  readonly bankUrl: string;
  /** Forwards to the bank. */
  readonly proxy: FaultyBankProxy;
  readonly scripted: ScriptedBank;
  /** The bank's default route. */
  readonly firstRoute: string;
  /** A reference that no other transfer has. */
  readonly nextReference: () => string;
}

/** Every check of this bank by its name. The bank, and a faulty proxy before it, are closed with the test. */
export async function startChecks(context: TestContext, name: ProfileName): Promise<Map<string, Check>> {
  const facts = SNAP_BANKS[name];
  const bank = await startSnapBank(context, facts);
  const proxy = await startFaultyBankProxy(context, bank.baseUrl, (path) => path.includes('/account-inquiry'));
  const scripted = await startScriptedBank();
  context.after(() => scripted.close());
  let references = 1_000_000;
  const [firstRoute = ''] = Object.keys(facts.routes);
  const checks: CheckContext = {
    name,
    facts,
    bankUrl: bank.baseUrl,
    proxy,
    scripted,
    firstRoute,
    nextReference: () => String((references += 1)),
  };
  return new Map([
    ...accountChecks(checks),
    ...transferChecks(checks),
    ...Object.entries(facts.routes).flatMap(([route, rules]) => routeChecks(checks, route, rules)),
  ]);
}

function accountChecks(context: CheckContext): [string, Check][] {
  const { facts, firstRoute, proxy } = context;
  const { own, other } = facts;
  return [
    [
      'the own account',
      (profile) =>
        onRail(context, profile, async (rail) => {
          const outcome = await inquireAccount(rail, own.code, account(10));
          assert.deepEqual([labelOf(outcome), outcome.railCode], ['ACTIVE', own.success]);
        }),
    ],
    [
      'lengths of own accounts',
      (profile) =>
        onRail(context, profile, async (rail) => {
          const [min, max] = own.digits;
          for (const digits of own.digits) {
            const { kind } = await inquireAccount(rail, own.code, account(digits));
            assert.equal(kind, 'verdict', `${digits} digits`);
          }
          await assertNotSent(rail, own.code, min - 1);
          await assertNotSent(rail, own.code, max + 1);
        }),
    ],
    [
      'a closed account',
      (profile) =>
        onRail(context, profile, async (rail) => {
          const outcome = await inquireAccount(rail, other, account(10, CLOSED));
          assert.equal(labelOf(outcome), facts.verdicts.INACTIVE);
          assert.equal(rail.distinguishesClosed, facts.verdicts.INACTIVE !== 'NOT_FOUND');
        }),
    ],
    [
      'the limit of inquiries',
      (profile) =>
        onRail(context, profile, async (rail) =>
          assert.equal(labelOf(await inquireAccount(rail, other, account(10, LIMIT))), 'throttled'),
        ),
    ],
    [
      'a reply to another inquiry',
      (profile) =>
        onRail(
          context,
          profile,
          async (rail) => {
            assert.equal(labelOf(await inquireAccount(rail, other, account(10))), 'ACTIVE');
            await assertNotBelieved(context, rail, (fields) => ({ ...fields, partnerReferenceNo: '1' }));
          },
          choicesOf(facts, firstRoute),
          proxy.baseUrl,
        ),
    ],
    [
      'lengths of the partner id',
      async (profile) => {
        const faults = (length: number): string[] =>
          profileFaults(profile, choicesOf(facts, firstRoute), 'T'.repeat(length), facts.channelId || undefined);
        assert.deepEqual(faults(facts.partnerIdLengthMax), []);
        assert.equal(faults(facts.partnerIdLengthMax + 1).length, 1);
      },
    ],
  ];
}

function transferChecks(context: CheckContext): [string, Check][] {
  const { facts, firstRoute } = context;
  return [
    ['a transfer within the bank', (profile) => assertTransferStatus(context, profile, facts.own.code)],
    ['a transfer to another bank', (profile) => assertTransferStatus(context, profile, facts.other)],
    [
      'transfers whose external id is unknown',
      (profile) =>
        onRail(
          context,
          profile,
          async (rail) => assert.equal(rail.inquireStatus === undefined, facts.needsExternalId),
          { ...choicesOf(facts, firstRoute), externalIdIsReference: false },
        ),
    ],
    [
      'the time of the first status inquiry',
      (profile) =>
        onRail(context, profile, async ({ firstStatusInquiryMs = null }) => {
          const { firstStatusInquiryMinutes: minutes } = facts;
          assert.equal(firstStatusInquiryMs, minutes === null ? null : minutes * 60_000);
        }),
    ],
  ];
}

function routeChecks(context: CheckContext, route: string, rules: SnapBankRoute): [string, Check][] {
  const { facts, proxy, scripted } = context;
  const { digitsMax, invalid, confirmation, switcher } = rules;
  const { other } = facts;
  const choices = choicesOf(facts, route);
  const checks: [string, Check][] = [
    [
      `another bank's account by ${route}`,
      (profile) =>
        onRail(
          context,
          profile,
          async (rail) => assert.equal(labelOf(await inquireAccount(rail, other, account(10))), 'ACTIVE'),
          choices,
        ),
    ],
    [
      `lengths of accounts by ${route}`,
      (profile) =>
        onRail(
          context,
          profile,
          async (rail) => {
            assert.equal(labelOf(await inquireAccount(rail, other, account(digitsMax))), 'ACTIVE');
            await assertNotSent(rail, other, digitsMax + 1);
          },
          choices,
        ),
    ],
  ];
  for (const [parameter, value] of Object.entries(invalid)) {
    checks.push([
      `an invalid ${parameter} for ${route}`,
      async (profile) => {
        const routeParameters = { ...choices.routeParameters, [parameter]: value };
        const faults = profileFaults(profile, { route, routeParameters }, 'T', facts.channelId || undefined);
        assert.match(faults.join(), new RegExp(`^route_parameters\\.${parameter} `));
      },
    ]);
  }
  if (switcher !== undefined) {
    const sendsSwitcher = async (rail: Rail): Promise<void> => {
      await inquireAccount(rail, other, account(10));
      const sent = JSON.parse(scripted.inquiries.at(-1)?.body ?? '{}');
      assert.equal(sent.additionalInfo?.switcher, switcher);
    };
    checks.push([
      `the switcher of ${route}`,
      (profile) => onRail(context, profile, sendsSwitcher, choices, scripted.baseUrl),
    ]);
  }
  if (rules.alias !== undefined) checks.push(...aliasChecks(context, route, rules.alias));
  if (confirmation !== undefined) {
    const { confirmed, denied } = confirmation;
    const deny = (fields: Record<string, unknown>): object =>
      JSON.parse(JSON.stringify(fields).replace(`"${confirmed}"`, `"${denied}"`));
    checks.push([
      `a denied success by ${route}`,
      (profile) => onRail(context, profile, (rail) => assertNotBelieved(context, rail, deny), choices, proxy.baseUrl),
    ]);
  }
  return checks;
}

function aliasChecks(
  context: CheckContext,
  route: string,
  { parameters, invalid }: NonNullable<SnapBankRoute['alias']>,
): [string, Check][] {
  const choices = { route, routeParameters: parameters };
  const resolve = async (rail: Rail): Promise<void> => {
    for (const alias of ['081234567890', 'budi@example.com']) {
      assert.equal(labelOf(await inquireAlias(rail, alias)), 'ACTIVE', alias);
    }
  };
  return [
    [`an alias by ${route}`, (profile) => onRail(context, profile, resolve, choices)],
    ...Object.entries(invalid).map(([parameter, value]): [string, Check] => [
      `an invalid ${parameter} for an alias by ${route}`,
      async (profile) => {
        const faults = aliasFaults(profile, { route, routeParameters: { ...parameters, [parameter]: value } });
        assert.match(faults.join(), new RegExp(`^route_parameters\\.${parameter} `));
      },
    ]),
  ];
}

const choicesOf = ({ routes }: SnapBank, route: string): SnapChoices => ({
  route,
  routeParameters: routes[route]?.parameters ?? {},
});

async function onRail(
  { name, facts, bankUrl, firstRoute }: CheckContext,
  profile: SnapProfile,
  use: (rail: Rail) => Promise<void>,
  choices: SnapChoices = choicesOf(facts, firstRoute),
  baseUrl = bankUrl,
): Promise<void> {
  const aliases = { mobile: 'international' } as const;
  const rail = createSnapRail(snapSettingsFor(name, baseUrl, { profile, choices, aliases }));
  try {
    await use(rail);
  } finally {
    await rail.close();
  }
}

async function assertNotSent(rail: Rail, code: string, digits: number): Promise<void> {
  // No account number is longer than SNAP allows, or shorter than the service does.
  if (digits > 34 || digits < 5) return;
  const outcome = await inquireAccount(rail, code, account(digits));
  assert.deepEqual(outcome, { kind: 'no_verdict', reason: 'not_supported', railCode: null });
}

async function assertNotBelieved(
  { facts, proxy }: CheckContext,
  rail: Rail,
  rewrite: (fields: Record<string, unknown>) => object,
): Promise<void> {
  proxy.fault = rewrittenJson(rewrite);
  try {
    const outcome = await inquireAccount(rail, facts.other, account(10));
    assert.equal(outcome.kind === 'no_verdict' ? outcome.reason : outcome.kind, 'invalid_response');
  } finally {
    proxy.fault = null;
  }
}

/** Orders a transfer with a new reference, and then inquires its status. */
async function assertTransferStatus(context: CheckContext, profile: SnapProfile, code: string): Promise<void> {
  const reference = context.nextReference();
  const { bank: recipient } = inquiryOf(code, account(10));
  assert.equal(await orderTransfer(context, profile, recipient, reference), 'accepted');
  await onRail(context, profile, async (rail) => {
    const outcome = await inquireStatus(rail, transferTo(code, { ...inquiryOf(code, account(10)), reference }));
    assert.equal(outcome.kind, 'status', JSON.stringify(outcome));
  });
}

async function orderTransfer(
  { name, bankUrl }: CheckContext,
  profile: SnapProfile,
  recipient: Bank,
  partnerReferenceNo: string,
): Promise<string> {
  const core = createSnapTransfers(snapSettingsFor(name, bankUrl, { profile }));
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

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

/** An account number with this many digits, at least five. */
const account = (digits: number, ending = ACTIVE): string => `${'8'.repeat(digits - 4)}${ending}`;

const rewrittenJson =
  (rewrite: (fields: Record<string, unknown>) => object): Fault =>
  ({ status, body }, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(rewrite(JSON.parse(body.toString()))));
