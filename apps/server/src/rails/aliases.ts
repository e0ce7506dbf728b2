import { Type } from 'typebox';
import { type Bank, isAliasDirectory } from '../domain/bank.ts';
import type { ConnectionReader } from './connection-reader.ts';
import { type MobileForm, mobileNumber } from './mobile-number.ts';
import { isNamed, type RailSettings } from './protocol.ts';

/** BI-FAST's kinds of aliases: mobile number, e-mail address. The third one is an ID that no client knows. */
export type AliasType = '01' | '02';

/** An alias as a bank system names it. */
export interface Alias {
  readonly type: AliasType;
  readonly value: string;
}

/** What the operator and the bank agreed on for inquiries by alias. */
export interface AliasSettings {
  readonly mobile: MobileForm;
}

/** `held` is an account number of the alias directory. */
export const aliasOf = (held: string, { mobile }: AliasSettings): Alias =>
  held.includes('@') ? { type: '02', value: held } : { type: '01', value: mobileNumber(held, mobile) };

/** The field `aliases` of a connection. Without it, the connection reaches no aliases. */
export const AliasEntry = Type.Object(
  { mobile_number: Type.Optional(Type.Enum(['national', 'international'])) },
  { additionalProperties: false },
);

interface AliasFields {
  readonly mobile_number?: MobileForm;
}

/** Null without `aliases`. A connection that names the directory in only one of `banks` and `aliases` is a fault. */
export function readAliases(
  entry: AliasFields | undefined,
  connection: RailSettings,
  reader: ConnectionReader,
): AliasSettings | null {
  const named = [...(connection.banks ?? [])].some((bic) => {
    const bank = reader.find(bic);
    return bank !== null && isAliasDirectory(bank);
  });
  if (entry === undefined) {
    if (named) reader.fault(`${connection.name}: banks names the alias directory, and aliases is missing`);
    return null;
  }
  if (connection.banks !== null && !named) {
    reader.fault(`${connection.name}: aliases is given, and the alias directory is missing in banks`);
  }
  return { mobile: entry.mobile_number ?? 'international' };
}

/** Whether the operator wants this connection to resolve aliases. */
export const servesAliases = (
  bank: Bank,
  settings: Pick<RailSettings, 'banks'>,
  aliases: AliasSettings | null,
): boolean => isAliasDirectory(bank) && aliases !== null && isNamed(bank, settings);
