import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Verdict } from '../../apps/server/src/domain/account.ts';
import type { InquiryOutcome, NoVerdictReason, Rail } from '../../apps/server/src/rails/rail.ts';
import { inquiryOf } from './connection.ts';
import { type Fault, rewritten, startFaultyBankProxy } from './faulty-bank-proxy.ts';

/** What the conformance suite needs of a protocol. */
export interface RailUnderTest {
  readonly name: string;
  /** The simulated bank with this protocol. Closed with the test. */
  startBank(context: TestContext): Promise<{ readonly baseUrl: string }>;
  openRail(baseUrl: string): Rail;
  /** A code of the bank, and the first digits of an account number at it. Four more digits are appended. */
  readonly bankCode: string;
  readonly accountPrefix: string;
  /** The verdict on accounts in each status at the simulated bank; `none` where the protocol has no code for it. */
  readonly verdicts: Readonly<Record<Exclude<Verdict['status'], 'ACTIVE'>, Verdict['status'] | 'none'>>;
  /** Whether the request is an account inquiry. */
  readonly isInquiry: (path: string) => boolean;
  /** Rewrites a valid reply on an active account so that one thing in it is wrong. */
  readonly wrongReplies: Readonly<
    Record<'another account' | 'an unknown code' | 'a field twice' | 'no name', RewriteReply>
  >;
}

type RewriteReply = (text: string) => string;

/** The simulated bank's accounts, by their last four digits (docs/simulated-bank.md). */
const ENDINGS = {
  ACTIVE: '1234',
  NOT_FOUND: '0404',
  INACTIVE: '0410',
  BLOCKED: '0403',
  unavailable: '0503',
  silent: '0504',
  throttled: '0429',
  garbage: '0500',
} as const;

const DEADLINE_MS = 10_000;
/** For replies that never come. */
const SHORT_DEADLINE_MS = 700;
/** Concatenated gzip members are a valid gzip file (RFC 1952, section 2.2): 200 MB. */
const BOMB_PARTS = 100;
const BOMB_PART = gzipSync(Buffer.alloc(2 * 1024 * 1024));
const REPLY_BYTES_MAX = 64 * 1024;
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;

const REASONS: ReadonlySet<NoVerdictReason> = new Set([
  'timeout',
  'unreachable',
  'bank_unavailable',
  'throttled',
  'credentials_rejected',
  'rejected_by_bank',
  'invalid_response',
]);

const html: Fault = (_reply, response) =>
  void response
    .writeHead(200, { 'content-type': 'text/html' })
    .end('<html><body>Rekening tidak ditemukan</body></html>');

const redirect: Fault = ({ body }, response) => void response.writeHead(307, { location: '/elsewhere' }).end(body);

const silence: Fault = () => {};

/** Sends one byte a second. */
const drip: Fault = ({ status, body }, response) => {
  response.writeHead(status, { 'content-length': body.length });
  let sent = 0;
  const timer = setInterval(() => response.write(body.subarray(sent, (sent += 1))), 1_000);
  response.once('close', () => clearInterval(timer));
};

const cutShort: Fault = ({ status, body }, response) => {
  response.writeHead(status, { 'content-length': body.length });
  response.write(body.subarray(0, body.length / 2), () => response.destroy());
};

const tooLong: Fault = ({ status, body }, response) =>
  void response.writeHead(status).end(Buffer.concat([body, Buffer.alloc(REPLY_BYTES_MAX, ' ')]));

const notUtf8: Fault = ({ status, body }, response) =>
  void response
    .writeHead(status)
    .end(Buffer.concat([body.subarray(0, -2), Buffer.from([0xff, 0xfe]), body.subarray(-2)]));

/** The tests that every rail must pass, whatever its bank sends. */
export function testRailConformance(subject: RailUnderTest): void {
  describe(`${subject.name} as a rail`, () => {
    testVerdicts(subject);
    testFaults(subject);
    testLargeAndDamagedReplies(subject);
    testConcurrencyAndCancellation(subject);
  });
}

const accountOf = ({ accountPrefix }: RailUnderTest, what: keyof typeof ENDINGS): string =>
  `${accountPrefix}${ENDINGS[what]}`;

/** A rail to the simulated bank, through a proxy that can replace its replies. */
async function open(subject: RailUnderTest, context: TestContext) {
  const bank = await subject.startBank(context);
  const proxy = await startFaultyBankProxy(context, bank.baseUrl, subject.isInquiry);
  const rail = subject.openRail(proxy.baseUrl);
  context.after(() => rail.close());
  const inquire = (what: keyof typeof ENDINGS, deadlineMs = DEADLINE_MS): Promise<InquiryOutcome> =>
    rail.inquireAccount(inquiryOf(subject.bankCode, accountOf(subject, what)), AbortSignal.timeout(deadlineMs));
  return { proxy, rail, inquire };
}

function testVerdicts(subject: RailUnderTest): void {
  it('reports an active account and its holder', async (context) => {
    const { inquire } = await open(subject, context);
    const outcome = await inquire('ACTIVE');
    assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE', JSON.stringify(outcome));
    assert.match(outcome.verdict.accountName, /^[A-Z][A-Z .,']+$/);
  });

  for (const status of ['NOT_FOUND', 'INACTIVE', 'BLOCKED'] as const) {
    const expected = subject.verdicts[status];
    const result = expected === 'none' ? 'gives no verdict' : `reports ${expected}`;
    it(`${result} for an account that is ${status}`, async (context) => {
      const { inquire } = await open(subject, context);
      const outcome = await inquire(status);
      assert.equal(outcome.kind === 'verdict' ? outcome.verdict.status : 'none', expected, JSON.stringify(outcome));
    });
  }

  it('gives the reason when the bank is unavailable, throttles, or does not reply', async (context) => {
    const { inquire } = await open(subject, context);
    const unavailable = await inquire('unavailable');
    assert.deepEqual(reasonOf(unavailable), 'bank_unavailable');
    assert.deepEqual(reasonOf(await inquire('throttled')), 'throttled');
    assert.deepEqual(reasonOf(await inquire('silent', SHORT_DEADLINE_MS)), 'timeout');
    assert.ok(['invalid_response', 'bank_unavailable'].includes(reasonOf(await inquire('garbage'))));
  });
}

function testFaults(subject: RailUnderTest): void {
  const FAULTS: Readonly<Record<string, [fault: Fault, reason: NoVerdictReason]>> = {
    'sends nothing': [silence, 'timeout'],
    'sends one byte a second': [drip, 'timeout'],
    'sends HTML with 200': [html, 'invalid_response'],
    'sends a redirect': [redirect, 'invalid_response'],
    'sends half a reply and closes the connection': [cutShort, 'unreachable'],
    'sends more than 64 KiB': [tooLong, 'invalid_response'],
    'sends bytes that are not UTF-8': [notUtf8, 'invalid_response'],
    ...Object.fromEntries(
      Object.entries(subject.wrongReplies).map(([what, rewrite]) => [
        `sends ${what}`,
        [rewritten(rewrite), 'invalid_response'],
      ]),
    ),
  };
  for (const [what, [fault, reason]] of Object.entries(FAULTS)) {
    it(`gives no verdict when the bank ${what}, and believes its next valid reply`, async (context) => {
      const { proxy, inquire } = await open(subject, context);
      // After this inquiry, the rail has what it needs once, such as a token.
      assert.equal((await inquire('ACTIVE')).kind, 'verdict');
      proxy.fault = fault;
      assert.equal(reasonOf(await inquire('ACTIVE', reason === 'timeout' ? SHORT_DEADLINE_MS : DEADLINE_MS)), reason);
      proxy.fault = null;
      assert.equal((await inquire('ACTIVE')).kind, 'verdict');
    });
  }
}

function testLargeAndDamagedReplies(subject: RailUnderTest): void {
  it('does not decompress a reply of 200 MB', async (context) => {
    const { proxy, inquire } = await open(subject, context);
    const compressed = Buffer.concat(Array.from({ length: BOMB_PARTS }, () => BOMB_PART));
    assert.equal((await inquire('ACTIVE')).kind, 'verdict');
    const before = process.memoryUsage.rss();
    proxy.fault = (_reply, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(compressed)
        .on('error', () => {});
    for (let count = 0; count < 5; count += 1) assert.equal(reasonOf(await inquire('ACTIVE')), 'invalid_response');
    assert.ok(process.memoryUsage.rss() - before < MEMORY_BYTES_MAX, 'memory use stays flat');
  });

  it('never rejects, and has a reason of the port, whatever the bank sends', async (context) => {
    const { proxy, inquire } = await open(subject, context);
    assert.equal((await inquire('ACTIVE')).kind, 'verdict');
    const seed = Math.trunc(Math.random() * 2 ** 31);
    context.diagnostic(`seed ${seed}`);
    const damage = fc.tuple(
      fc.nat(),
      fc.nat(40),
      fc.uint8Array({ maxLength: 20 }),
      fc.constantFrom(200, 400, 404, 500),
    );
    await fc.assert(
      fc.asyncProperty(damage, async ([at, length, bytes, status]) => {
        proxy.fault = ({ body }, response) => {
          const from = at % body.length;
          response.writeHead(status).end(Buffer.concat([body.subarray(0, from), bytes, body.subarray(from + length)]));
        };
        const outcome = await inquire('ACTIVE');
        if (outcome.kind === 'no_verdict') assert.ok(REASONS.has(outcome.reason));
        // The damage may be in the name, or in nothing that is read. It must not lead to another verdict.
        else assert.equal(outcome.verdict.status, 'ACTIVE');
        assert.doesNotMatch(
          outcome.railCode ?? '',
          new RegExp(accountOf(subject, 'ACTIVE')),
          'rail codes contain no account number',
        );
      }),
      { seed, numRuns: 150 },
    );
  });
}

function testConcurrencyAndCancellation(subject: RailUnderTest): void {
  it('ends at once when its signal has fired', async (context) => {
    const { rail } = await open(subject, context);
    const outcome = await rail.inquireAccount(
      inquiryOf(subject.bankCode, accountOf(subject, 'ACTIVE')),
      AbortSignal.abort(),
    );
    assert.equal(reasonOf(outcome), 'timeout');
  });

  it('reports each of many concurrent inquiries on its own account', async (context) => {
    const { rail } = await open(subject, context);
    const accounts = Array.from({ length: 40 }, (_, index) => `${subject.accountPrefix}${String(1000 + index)}`);
    const names = await Promise.all(
      accounts.map(async (number) => {
        const outcome = await rail.inquireAccount(
          inquiryOf(subject.bankCode, number),
          AbortSignal.timeout(DEADLINE_MS),
        );
        assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE', JSON.stringify(outcome));
        return outcome.verdict.accountName;
      }),
    );
    assert.ok(new Set(names).size > 10, 'different accounts have different holders');
  });
}

const reasonOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'no_verdict' ? outcome.reason : `verdict ${outcome.verdict.status}`;
