import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { InquiryOutcome } from '../../apps/server/src/rails/rail.ts';
import { HOLDER, type HubReply, reportOn, startScriptedHub } from './bi-fast-hub.ts';
import { inquireAccount, inquireAlias } from './connection.ts';

/** Aliases over BI-FAST: a proxy in the account enquiry. */

const labelOf = (outcome: InquiryOutcome): string =>
  outcome.kind === 'verdict' ? outcome.verdict.status : outcome.reason;

describe('an enquiry by alias', () => {
  async function inquire(
    context: TestContext,
    reply: HubReply,
    alias = 'Budi@Example.com',
    mobile: 'national' | 'international' = 'international',
  ) {
    const hub = await startScriptedHub(context, reply);
    const outcome = await inquireAlias(hub.rail({ aliases: { mobile } }), alias);
    const [transaction] = JSON.parse(hub.requests[0]?.body ?? '').BusMsg.Document.FIToFICstmrCdtTrf.CdtTrfTxInf;
    return { label: labelOf(outcome), transaction };
  }

  const withAccount =
    (account: object): HubReply =>
    (request) => ({
      body: reportOn(request, {
        TxSts: 'ACTC',
        reason: 'U000',
        transaction: { OrgnlTxRef: { Cdtr: { Pty: { Nm: HOLDER } }, CdtrAcct: account } },
      }),
    });
  const resolved = { Id: { Othr: { Id: '001234567890' } } };

  it('names the alias, its type, and the hub in place of the bank', async (context) => {
    for (const [alias, mobile, type, value] of [
      ['Budi@Example.com', 'international', '02', 'budi@example.com'],
      ['+6281234567890', 'international', '01', '6281234567890'],
      ['6281234567890', 'national', '01', '081234567890'],
    ] as const) {
      const { label, transaction } = await inquire(context, withAccount(resolved), alias, mobile);
      assert.equal(label, 'ACTIVE');
      assert.deepEqual(transaction.CdtrAcct, {
        Id: { Othr: { Id: 'NOTPROVIDED' } },
        Prxy: { Tp: { Prtry: type }, Id: value },
      });
      assert.deepEqual(transaction.CdtrAgt, { FinInstnId: { Othr: { Id: 'FASTIDJA' } } });
    }
  });

  it('believes a report that repeats the alias in any form, and none about another alias', async (context) => {
    const echoed = (Id: string): HubReply => withAccount({ ...resolved, Prxy: { Tp: { Prtry: '02' }, Id } });
    assert.equal((await inquire(context, echoed('BUDI@EXAMPLE.COM'))).label, 'ACTIVE');
    for (const other of ['siti@example.com', '6281234567890', '']) {
      assert.equal((await inquire(context, echoed(other))).label, 'invalid_response', other);
    }
    assert.equal((await inquire(context, withAccount({ ...resolved, Prxy: 'x' }))).label, 'invalid_response');
  });

  it('has codes of its own, which mean nothing about an account number', async (context) => {
    const rejected =
      (reason: string): HubReply =>
      (request) => ({ body: reportOn(request, { TxSts: 'RJCT', reason }) });
    for (const [code, label] of [
      ['U804', 'NOT_FOUND'],
      ['U805', 'BLOCKED'],
      ['U811', 'BLOCKED'],
      ['U102', 'INACTIVE'],
      ['U129', 'bank_unavailable'],
      ['U777', 'invalid_response'],
    ] as const) {
      assert.equal((await inquire(context, rejected(code))).label, label, code);
      if (!code.startsWith('U8')) continue;
      const hub = await startScriptedHub(context, rejected(code));
      assert.equal(labelOf(await inquireAccount(hub.rail(), 'BRI', '666111222')), 'invalid_response', code);
    }
  });
});
