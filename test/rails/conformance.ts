import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Verdict } from '../../apps/server/src/domain/account.ts';
import type { InquiryOutcome, NoVerdictReason, Rail } from '../../apps/server/src/rails/rail.ts';
import { inquiryOf } from './connection.ts';
import { type Fault, rewritten, startFaultyBankProxy } from './faulty-bank-proxy.ts';

/** What a protocol must bring to be held against the port. */
export interface RailUnderTest {
  readonly name: string;
  /** The simulated bank in this form. It is closed with the test. */
  startBank(context: TestContext): Promise<{ readonly baseUrl: string }>;
  openRail(baseUrl: string): Rail;
  /** A code of the bank that is asked, and the first digits of an account of it: four more are put behind them. */
  readonly bankCode: string;
  readonly accountPrefix: string;
  /** What becomes of the accounts that the simulated bank holds to be so; `none` where the protocol cannot tell. */
  readonly verdicts: Readonly<Record<Exclude<Verdict['status'], 'ACTIVE'>, Verdict['status'] | 'none'>>;
  /** Whether a request is an inquiry about an account. */
  readonly isInquiry: (path: string) => boolean;
  /** Replies that are right in everything but one thing, by what it is; they come from right ones about an active account. */
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
/** How long somebody waits for what never comes. */
const SHORT_DEADLINE_MS = 700;
/** Packed parts, one behind the other, are packed as a whole (RFC 1952, section 2.2): 200 MB. */
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

/** One byte a second. */
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

/** What every rail must do, whatever its bank does. */
export function testRailConformance(form: RailUnderTest): void {
  const { name, bankCode, accountPrefix, verdicts, wrongReplies } = form;

  describe(`${name} as a rail`, () => {
    const account = (what: keyof typeof ENDINGS): string => `${accountPrefix}${ENDINGS[what]}`;

    async function open(context: TestContext) {
      const bank = await form.startBank(context);
      const liar = await startFaultyBankProxy(context, bank.baseUrl, form.isInquiry);
      const rail = form.openRail(liar.baseUrl);
      context.after(() => rail.close());
      const ask = (what: keyof typeof ENDINGS, patienceMs = DEADLINE_MS): Promise<InquiryOutcome> =>
        rail.inquireAccount(inquiryOf(bankCode, account(what)), AbortSignal.timeout(patienceMs));
      return { liar, rail, ask };
    }

    it('tells an active account and its holder', async (context) => {
      const { ask } = await open(context);
      const outcome = await ask('ACTIVE');
      assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE', JSON.stringify(outcome));
      assert.match(outcome.verdict.accountName, /^[A-Z][A-Z .,']+$/);
    });

    for (const status of ['NOT_FOUND', 'INACTIVE', 'BLOCKED'] as const) {
      const told = verdicts[status];
      it(`${told === 'none' ? 'gives no verdict' : `says ${told}`} of an account that is ${status}`, async (context) => {
        const { ask } = await open(context);
        const outcome = await ask(status);
        assert.equal(outcome.kind === 'verdict' ? outcome.verdict.status : 'none', told, JSON.stringify(outcome));
      });
    }

    it('says why there is no verdict of a bank that cannot answer, asks for fewer questions, or says nothing', async (context) => {
      const { ask } = await open(context);
      const unavailable = await ask('unavailable');
      assert.deepEqual(reasonOf(unavailable), 'bank_unavailable');
      assert.deepEqual(reasonOf(await ask('throttled')), 'throttled');
      assert.deepEqual(reasonOf(await ask('silent', SHORT_DEADLINE_MS)), 'timeout');
      assert.ok(['invalid_response', 'bank_unavailable'].includes(reasonOf(await ask('garbage'))));
    });

    const FAULTS: Readonly<Record<string, [lie: Fault, reason: NoVerdictReason]>> = {
      'answers nothing': [silence, 'timeout'],
      'answers one byte a second': [drip, 'timeout'],
      'answers HTML with 200': [html, 'invalid_response'],
      'answers a redirect': [redirect, 'invalid_response'],
      'answers half and hangs up': [cutShort, 'unreachable'],
      'answers more than 64 KiB': [tooLong, 'invalid_response'],
      'answers what is not UTF-8': [notUtf8, 'invalid_response'],
      ...Object.fromEntries(
        Object.entries(wrongReplies).map(([what, rewrite]) => [
          `answers ${what}`,
          [rewritten(rewrite), 'invalid_response'],
        ]),
      ),
    };
    for (const [what, [lie, reason]] of Object.entries(FAULTS)) {
      it(`believes nothing of a bank that ${what}, and the next answer again`, async (context) => {
        const { liar, ask } = await open(context);
        // What it needs once, such as a token, is there.
        assert.equal((await ask('ACTIVE')).kind, 'verdict');
        liar.fault = lie;
        assert.equal(reasonOf(await ask('ACTIVE', reason === 'timeout' ? SHORT_DEADLINE_MS : DEADLINE_MS)), reason);
        liar.fault = null;
        assert.equal((await ask('ACTIVE')).kind, 'verdict');
      });
    }

    it('reads no more than it must of 200 MB, packed or not', async (context) => {
      const { liar, ask } = await open(context);
      const packed = Buffer.concat(Array.from({ length: BOMB_PARTS }, () => BOMB_PART));
      assert.equal((await ask('ACTIVE')).kind, 'verdict');
      const before = process.memoryUsage.rss();
      liar.fault = (_reply, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(packed)
          .on('error', () => {});
      for (let count = 0; count < 5; count += 1) assert.equal(reasonOf(await ask('ACTIVE')), 'invalid_response');
      assert.ok(process.memoryUsage.rss() - before < MEMORY_BYTES_MAX, 'memory stays flat');
    });

    it('never rejects, and never says more than the port has words for, whatever the bank sends', async (context) => {
      const { liar, ask } = await open(context);
      assert.equal((await ask('ACTIVE')).kind, 'verdict');
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
          liar.fault = ({ body }, response) => {
            const from = at % body.length;
            response
              .writeHead(status)
              .end(Buffer.concat([body.subarray(0, from), bytes, body.subarray(from + length)]));
          };
          const outcome = await ask('ACTIVE');
          if (outcome.kind === 'no_verdict') assert.ok(REASONS.has(outcome.reason));
          // Damage may hit the name, or nothing that is read; it must not make another verdict out of it.
          else assert.equal(outcome.verdict.status, 'ACTIVE');
          assert.doesNotMatch(outcome.railCode ?? '', new RegExp(account('ACTIVE')), 'codes name no account');
        }),
        { seed, numRuns: 150 },
      );
    });

    it('gives up at once when nobody waits any more', async (context) => {
      const { rail } = await open(context);
      const outcome = await rail.inquireAccount(inquiryOf(bankCode, account('ACTIVE')), AbortSignal.abort());
      assert.equal(reasonOf(outcome), 'timeout');
    });

    it('answers many at once, each about its own account', async (context) => {
      const { rail } = await open(context);
      const asked = Array.from({ length: 40 }, (_, index) => `${accountPrefix}${String(1000 + index)}`);
      const names = await Promise.all(
        asked.map(async (number) => {
          const outcome = await rail.inquireAccount(inquiryOf(bankCode, number), AbortSignal.timeout(DEADLINE_MS));
          assert.ok(outcome.kind === 'verdict' && outcome.verdict.status === 'ACTIVE', JSON.stringify(outcome));
          return outcome.verdict.accountName;
        }),
      );
      assert.ok(new Set(names).size > 10, 'different accounts have different holders');
    });
  });
}

const reasonOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'no_verdict' ? outcome.reason : `verdict ${outcome.verdict.status}`;
