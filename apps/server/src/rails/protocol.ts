import { type Static, type TObject, type TProperties, Type } from 'typebox';
import { type Bank, isInstitution } from '../domain/bank.ts';
import type { ConnectionReader } from './connection-reader.ts';
import type { Rail } from './rail.ts';
import type { BankLimits } from './resilience/settings.ts';
import type { BankTransport } from './transport.ts';

/** The settings that every connection to a bank system has, whatever its protocol. */
export interface RailSettings {
  /** As it appears in logs, metrics and the operator's API. */
  readonly name: string;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** BICs of the banks that this connection serves; null for every bank. */
  readonly banks: ReadonlySet<string> | null;
  /** For `createBankHttp`. */
  readonly transport?: BankTransport;
  /** The limits agreed with the bank. `resilience/` enforces them, not the protocol. */
  readonly limits?: BankLimits;
}

/**
 * Whether the operator wants this connection to serve the bank. E-wallets and aliases need a way of their own, which a
 * protocol has or not: `isServed` is false for them.
 */
export const isServed = (bank: Bank, settings: Pick<RailSettings, 'banks'>): boolean =>
  isInstitution(bank) && isNamed(bank, settings);

/** Whether the operator named this bank or e-wallet for the connection, or all of them. */
export const isNamed = (bank: Bank, { banks }: Pick<RailSettings, 'banks'>): boolean =>
  banks === null || banks.has(bank.bic);

/** One connection of the rails file: the settings agreed with the bank, and how to open the rail. */
export interface Connection {
  readonly settings: RailSettings;
  /** The same for two connections when their entries, and the contents of all files that these name, are the same. */
  readonly fingerprint: string;
  open(): Rail;
}

/** A protocol that bank systems use. Its entry in protocols.ts is all that makes it known to the service. */
export interface Protocol {
  /** As the rails file names it. */
  readonly name: string;
  /** Whether its connections may name e-wallets in `banks`. */
  readonly reachesEWallets: boolean;
  /** Whether its connections may name the alias directory in `banks`. */
  readonly reachesAliases: boolean;
  /** The schema of a whole entry of the rails file. */
  readonly schema: TObject;
  /** `entry` fits the schema. Null when a part is missing, which the reader has noted as a fault. */
  connect(entry: unknown, common: RailSettings, reader: ConnectionReader): Omit<Connection, 'fingerprint'> | null;
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

/** The fields that every entry has, whatever its protocol. */
export type CommonEntry = Static<TObject<typeof COMMON_FIELDS>>;

export interface ProtocolDefinition<Fields extends TProperties, Settings extends RailSettings> {
  readonly name: string;
  /** Absent: false. */
  readonly reachesEWallets?: boolean;
  /** Absent: false. */
  readonly reachesAliases?: boolean;
  /** The fields of an entry of the rails file in addition to the common ones. */
  readonly fields: Fields;
  /** Reads what the entry only refers to, such as files with secrets. Null when something is missing. */
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
  const { name, reachesEWallets = false, reachesAliases = false, fields, read, open } = definition;
  return {
    name,
    reachesEWallets,
    reachesAliases,
    schema: Type.Object({ ...COMMON_FIELDS, protocol: Type.Literal(name), ...fields }, { additionalProperties: false }),
    connect(entry, common, reader) {
      const settings = read(entry as Static<TObject<Fields>> & CommonEntry, common, reader);
      return settings === null ? null : { settings, open: () => open(settings) };
    },
  };
}
