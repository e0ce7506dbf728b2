import { type Static, type TObject, type TProperties, Type } from 'typebox';
import type { Bank } from '../domain/bank.ts';
import type { ConnectionReader } from './connection-reader.ts';
import type { Rail } from './rail.ts';
import type { Contract } from './resilience/settings.ts';
import type { BankTransport } from './transport.ts';

/** What every connection to a bank system has, whatever it speaks. */
export interface RailSettings {
  /** As it appears in logs, metrics and the operator's views. */
  readonly name: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** BICs of the banks that are asked over this connection; null for every bank. */
  readonly banks: ReadonlySet<string> | null;
  /** How the bank is reached besides its address: for `createBankHttp`. */
  readonly transport?: BankTransport;
  /** How much it may be asked. A protocol need not care: whoever chooses the rail does. */
  readonly contract?: Contract;
}

/** Whether the operator wants this bank to be asked over this connection. */
export const isServed = (bank: Bank, { banks }: Pick<RailSettings, 'banks'>): boolean =>
  banks === null || banks.has(bank.bic);

/** One connection of the rails file: what was agreed with the bank, and the way to open it. */
export interface Connection {
  readonly settings: RailSettings;
  open(): Rail;
}

/** A language that bank systems speak. It stands in the list of protocols.ts; nothing else needs to know of it. */
export interface Protocol {
  /** As the rails file names it. */
  readonly name: string;
  /** A whole entry of the rails file. */
  readonly schema: TObject;
  /** Null when a part is missing; the reader has then been told. `entry` fits the schema. */
  connect(entry: unknown, common: RailSettings, reader: ConnectionReader): Connection | null;
}

const COMMON_FIELDS = {
  name: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
  base_url: Type.String(),
  banks: Type.Union([Type.Literal('*'), Type.Array(Type.String(), { minItems: 1 })]),
  quota_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  quota_per_day: Type.Optional(Type.Integer({ minimum: 1 })),
  concurrency_max: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  client_certificate_file: Type.Optional(Type.String({ minLength: 1 })),
  client_private_key_file: Type.Optional(Type.String({ minLength: 1 })),
  ca_file: Type.Optional(Type.String({ minLength: 1 })),
  proxy_url: Type.Optional(Type.String({ minLength: 1 })),
};

/** What every entry has, whatever its protocol. */
export type CommonEntry = Static<TObject<typeof COMMON_FIELDS>>;

export interface ProtocolDefinition<Fields extends TProperties, Settings extends RailSettings> {
  readonly name: string;
  /** What an entry of the rails file has besides the common fields. */
  readonly fields: Fields;
  /** Reads what the entry only names, such as files with secrets. Null when something is missing. */
  readonly read: (
    entry: Static<TObject<Fields>> & CommonEntry,
    common: RailSettings,
    reader: ConnectionReader,
  ) => Settings | null;
  readonly open: (settings: Settings) => Rail;
}

export function defineProtocol<Fields extends TProperties, Settings extends RailSettings>(
  definition: ProtocolDefinition<Fields, Settings>,
): Protocol {
  const { name, fields, read, open } = definition;
  return {
    name,
    schema: Type.Object({ ...COMMON_FIELDS, protocol: Type.Literal(name), ...fields }, { additionalProperties: false }),
    connect(entry, common, reader) {
      const settings = read(entry as Static<TObject<Fields>> & CommonEntry, common, reader);
      return settings === null ? null : { settings, open: () => open(settings) };
    },
  };
}
