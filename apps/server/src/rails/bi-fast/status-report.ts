import { type Static, Type } from 'typebox';
import { Check } from 'typebox/schema';
import { numberText, readExactJson } from '../../lib/exact-json.ts';

const Id = Type.Object({ Id: Type.String() });
const Institution = Type.Object({ FinInstnId: Type.Object({ Othr: Id }) });
const Amount = Type.Object({
  Ccy: Type.String(),
  value: Type.Optional(Type.Unknown()),
  Value: Type.Optional(Type.Unknown()),
});

/**
 * The fields that are read from pacs.002.001.10. An object in place of a text may hide relevant information, so it is
 * rejected.
 */
const Transaction = Type.Object({
  OrgnlEndToEndId: Type.String(),
  OrgnlTxId: Type.Optional(Type.String()),
  TxSts: Type.String({ pattern: '^[A-Z]{4}$' }),
  StsRsnInf: Type.Optional(
    Type.Array(
      Type.Object({
        Rsn: Type.Object({ Prtry: Type.String({ pattern: '^[A-Z0-9]{4}$' }), Cd: Type.Optional(Type.Never()) }),
      }),
      { minItems: 1, maxItems: 1 },
    ),
  ),
  OrgnlTxRef: Type.Optional(
    Type.Object({
      IntrBkSttlmAmt: Type.Optional(Amount),
      Cdtr: Type.Optional(Type.Object({ Pty: Type.Optional(Type.Object({ Nm: Type.Optional(Type.String()) })) })),
      CdtrAgt: Type.Optional(Institution),
      CdtrAcct: Type.Optional(Type.Object({ Id: Type.Object({ Othr: Id }), Prxy: Type.Optional(Id) })),
    }),
  ),
});

const Header = Type.Object({
  To: Type.Optional(Type.Object({ FIId: Institution })),
  MsgDefIdr: Type.String(),
});

const AnyMessage = Type.Object({ BusMsg: Type.Object({ AppHdr: Header }) });

const Report = Type.Object({
  BusMsg: Type.Object({
    AppHdr: Header,
    Document: Type.Object({
      FIToFIPmtStsRpt: Type.Object({
        OrgnlGrpInfAndSts: Type.Optional(
          Type.Array(
            Type.Object({ OrgnlMsgId: Type.Optional(Type.String()), OrgnlMsgNmId: Type.Optional(Type.String()) }),
            { maxItems: 1 },
          ),
        ),
        TxInfAndSts: Type.Array(Transaction, { minItems: 1, maxItems: 1 }),
      }),
    }),
  }),
});

/** One report about one transaction. A field is absent where the report does not have it. */
export interface StatusReport {
  readonly endToEndId: string;
  readonly transactionId: string | undefined;
  /** The id and the kind of the message that is reported on, such as `pacs.008.001.08`. */
  readonly messageId: string | undefined;
  readonly messageName: string | undefined;
  /** TxSts, four letters. */
  readonly status: string;
  /** Four characters, such as `U000`. */
  readonly reason: string | undefined;
  readonly holder: string | undefined;
  readonly accountNumber: string | undefined;
  /** The alias of the enquiry, in the hub's form. */
  readonly alias: string | undefined;
  /** BIC of the account's bank. */
  readonly bank: string | undefined;
  readonly currency: string | undefined;
  /** As it is written in the report; empty where it is no number. */
  readonly amount: string | undefined;
}

/** The hub's own code, for the operator. */
export const railCodeOf = ({ status, reason }: StatusReport): string =>
  reason === undefined ? status : `${status} ${reason}`;

/**
 * `rejected`: the hub found the request malformed (admi.002). Null for any other message, and for one to another
 * participant.
 */
export function parseReport(text: string, ownBic: string): StatusReport | 'rejected' | null {
  const value = readExactJson(text);
  if (!Check(AnyMessage, value)) return null;
  const { MsgDefIdr: definition, To: addressee } = value.BusMsg.AppHdr;
  if (addressee !== undefined && addressee.FIId.FinInstnId.Othr.Id !== ownBic) return null;
  if (definition.startsWith('admi.002.')) return 'rejected';
  return definition === 'pacs.002.001.10' && Check(Report, value) ? reportOf(value) : null;
}

function reportOf({ BusMsg }: Static<typeof Report>): StatusReport | null {
  const { OrgnlGrpInfAndSts: groups, TxInfAndSts: transactions } = BusMsg.Document.FIToFIPmtStsRpt;
  const [transaction] = transactions;
  if (transaction === undefined) return null;
  const original = transaction.OrgnlTxRef;
  const amount = original?.IntrBkSttlmAmt;
  return {
    endToEndId: transaction.OrgnlEndToEndId,
    transactionId: transaction.OrgnlTxId,
    messageId: groups?.[0]?.OrgnlMsgId,
    messageName: groups?.[0]?.OrgnlMsgNmId,
    status: transaction.TxSts,
    reason: transaction.StsRsnInf?.[0]?.Rsn.Prtry,
    holder: original?.Cdtr?.Pty?.Nm,
    accountNumber: original?.CdtrAcct?.Id.Othr.Id,
    alias: original?.CdtrAcct?.Prxy?.Id,
    bank: original?.CdtrAgt?.FinInstnId.Othr.Id,
    currency: amount?.Ccy,
    amount: amount === undefined ? undefined : decimalText(amount),
  };
}

/** Both spellings of the member are read. A report with both is not believed. */
function decimalText({ value, Value }: Static<typeof Amount>): string {
  if (value !== undefined && Value !== undefined) return '';
  const given = value ?? Value;
  return typeof given === 'string' ? given : (numberText(given) ?? '');
}
