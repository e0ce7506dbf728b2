import { type Static, Type } from 'typebox';
import { AccountNumber } from '../../domain/account.ts';
import { type Bank, isEWallet } from '../../domain/bank.ts';
import type { ConnectionReader } from '../connection-reader.ts';
import { type MobileForm, mobileNumber } from '../mobile-number.ts';
import { isNamed, type RailSettings } from '../protocol.ts';
import { bankCodeOf } from './message-fields.ts';
import type { SnapProfile } from './profiles/profile.ts';

/**
 * How a connection reaches an e-wallet: its own inquiry about a customer (service 37), or a virtual account at a bank,
 * whose number is a prefix and the mobile number (service 16).
 */
export type WalletRoute = CustomerRoute | VirtualAccountRoute;

export interface CustomerRoute {
  readonly service: '37';
  /** Below the provider's address. */
  readonly path: string;
  /** The inquiry has an amount, although it moves nothing: `10000.00`, in IDR. */
  readonly amount: string;
  /** What tells the provider which wallet is meant, if it leads to several. */
  readonly additionalInfo: Readonly<Record<string, string>> | null;
  readonly mobile: MobileForm;
}

export interface VirtualAccountRoute {
  readonly service: '16';
  /** `beneficiaryBankCode`, in the request and in its reply. */
  readonly bankCode: { readonly sent: string; readonly echoed: string };
  readonly prefix: string;
  readonly mobile: MobileForm;
}

/** By the wallet's name in the directory. */
export type WalletRoutes = ReadonlyMap<string, WalletRoute>;

/** The numbers by which a bank may name the account of an e-wallet's customer: in both forms, and with the prefix. */
export function numbersOfWallet(held: string, route: WalletRoute): readonly string[] {
  const mobile = AccountNumber.parseMobile(held)?.reveal();
  if (mobile === undefined) return [held];
  const forms = [mobileNumber(mobile, 'national'), mobileNumber(mobile, 'international')];
  return route.service === '16' ? [...forms, ...forms.map((form) => route.prefix + form)] : forms;
}

const Mobile = Type.Optional(Type.Enum(['national', 'international']));

const CustomerEntry = Type.Object(
  {
    service: Type.Literal('37'),
    path: Type.Optional(Type.String({ pattern: '^/[!-~]*[!-.0-~]$' })),
    amount: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,12}\\.[0-9]{2}$' })),
    additional_info: Type.Optional(Type.Record(Type.String(), Type.String())),
    mobile_number: Mobile,
  },
  { additionalProperties: false },
);

const VirtualAccountEntry = Type.Object(
  {
    service: Type.Literal('16'),
    bank: Type.Optional(Type.String()),
    prefix: Type.Optional(Type.String({ pattern: '^[0-9]{0,12}$' })),
    mobile_number: Mobile,
  },
  { additionalProperties: false },
);

/** The field `wallets` of a connection, by any name of the wallet. docs/snap.md explains it. */
export const WalletEntries = Type.Record(Type.String(), Type.Union([CustomerEntry, VirtualAccountEntry]));
type WalletEntry = Static<typeof CustomerEntry> | Static<typeof VirtualAccountEntry>;

/** ASPI's. */
const DEFAULT_PATH = '/v1.0/emoney/account-inquiry';
const DEFAULT_AMOUNT = '10000.00';

/**
 * The prefixes that one provider publishes (DOKU). It names a bank for i.saku and a code for LinkAja only, so that of
 * the others must be given.
 */
const PUBLISHED: Readonly<Partial<Record<string, { readonly prefix: string; readonly bank?: string }>>> = {
  GOPAY: { prefix: '898' },
  DANA: { prefix: '8528' },
  SHOPEEPAY: { prefix: '706' },
  OVO: { prefix: '84' },
  ISAKU: { prefix: '7939', bank: '022' },
  LINKAJA: { prefix: '', bank: '911' },
};

/** The routes of a connection. What is wrong with them becomes a fault of the reader, with the connection's name. */
export function readWallets(
  entries: Readonly<Record<string, WalletEntry>>,
  connection: RailSettings,
  { bankCode }: Pick<SnapProfile, 'bankCode'>,
  reader: ConnectionReader,
): WalletRoutes {
  const routes = new Map<string, WalletRoute>();
  const fault = (sentence: string): void => reader.fault(`${connection.name}: ${sentence}`);
  for (const [name, entry] of Object.entries(entries)) {
    const wallet = reader.find(name);
    if (wallet === null || !isEWallet(wallet)) {
      fault(`wallets: ${name} is not an e-wallet of the bank directory`);
      continue;
    }
    if (routes.has(wallet.bic)) fault(`wallets: ${wallet.bic} is given twice`);
    if (!isNamed(wallet, connection)) fault(`wallets: ${wallet.bic} is missing in banks`);
    const route = entry.service === '37' ? customerRoute(entry) : virtualAccountRoute(wallet, entry, bankCode, reader);
    if (typeof route === 'string') fault(`wallets: ${wallet.bic}: ${route}`);
    else routes.set(wallet.bic, route);
  }
  for (const [one, other] of indistinguishable(routes)) {
    fault(
      `wallets: ${one} and ${other} need another path or additional_info, or the bank cannot tell which one is meant`,
    );
  }
  for (const bic of connection.banks ?? []) {
    const bank = reader.find(bic);
    if (bank !== null && isEWallet(bank) && !routes.has(bic)) fault(`banks names ${bic}, which wallets does not`);
  }
  return routes;
}

const customerRoute = (entry: Static<typeof CustomerEntry>): CustomerRoute => ({
  service: '37',
  path: entry.path ?? DEFAULT_PATH,
  amount: entry.amount ?? DEFAULT_AMOUNT,
  additionalInfo: entry.additional_info ?? null,
  // ASPI's sample, and DANA: `628…`.
  mobile: entry.mobile_number ?? 'international',
});

/** A sentence where the entry lacks something. */
function virtualAccountRoute(
  wallet: Bank,
  entry: Static<typeof VirtualAccountEntry>,
  forms: SnapProfile['bankCode'],
  reader: ConnectionReader,
): VirtualAccountRoute | string {
  const published = PUBLISHED[wallet.bic];
  const code = entry.bank ?? published?.bank;
  const prefix = entry.prefix ?? published?.prefix;
  if (code === undefined) return 'bank is missing: the bank that holds the virtual accounts';
  if (prefix === undefined) return 'prefix is missing';
  const bank = reader.find(code);
  const sent = bank === null ? unlistedCode(code) : bankCodeOf(forms.sent, bank);
  const echoed = bank === null ? unlistedCode(code) : bankCodeOf(forms.echoed, bank);
  if (sent === null || echoed === null) return `bank: ${code} has no code that this connection could send`;
  return { service: '16', bankCode: { sent, echoed }, prefix, mobile: entry.mobile_number ?? 'national' };
}

/** A code of the switch that is no bank's, such as 911. */
const unlistedCode = (code: string): string | null => (/^\d{3}$/.test(code) ? code : null);

/** Pairs of wallets whose inquiries would be the same. */
function indistinguishable(routes: WalletRoutes): [string, string][] {
  const keys = [...routes].map(([wallet, route]) => {
    const what = route.service === '37' ? [route.path, route.additionalInfo] : [route.bankCode.sent, route.prefix];
    return { wallet, key: `${route.service} ${JSON.stringify(what)}` };
  });
  return keys.flatMap(({ wallet, key }, index) =>
    keys.slice(index + 1).flatMap((other) => (other.key === key ? [[wallet, other.wallet] as [string, string]] : [])),
  );
}
