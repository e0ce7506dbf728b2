import { hash } from 'node:crypto';
import path from 'node:path';
import { type TSchema, Type } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { type BankDirectory, isAliasDirectory, isEWallet } from '../domain/bank.ts';
import { isJsonObject } from '../lib/exact-json.ts';
import { ownProperty } from '../lib/own-property.ts';
import { type ConnectionReader, createConnectionReader } from './connection-reader.ts';
import type { CommonEntry, Connection, Protocol, RailSettings } from './protocol.ts';
import { PROTOCOLS } from './protocols.ts';
import { RouteEntry, type Routes, readRoutes } from './routes.ts';
import { readTransport } from './transport.ts';

const FILE = 'TIBA_RAILS_FILE';

const schemaOf = (protocols: readonly Protocol[]) =>
  Type.Object(
    {
      rails: Type.Array(Type.Object({ protocol: Type.Enum(protocols.map(({ name }) => name)) }), { minItems: 1 }),
      routes: Type.Optional(Type.Array(RouteEntry)),
    },
    { additionalProperties: false },
  );

export interface RailsFileOptions {
  /** In a rehearsal, connections may lead to the simulated bank. By default they may not. */
  readonly staging?: boolean;
  readonly protocols?: readonly Protocol[];
}

export type RailsFileResult =
  | { readonly connections: Connection[]; readonly routes: Routes }
  | { readonly faults: string[] };

/**
 * Reads the connections to banks. Secrets are in files of their own, with paths relative to the rails file. Faults of
 * the file's own fields are reported together; where there are none, those of what the fields refer to.
 */
export function readRailsFile(
  file: string,
  banks: BankDirectory,
  { staging = false, protocols = PROTOCOLS }: RailsFileOptions = {},
): RailsFileResult {
  const RailsFile = schemaOf(protocols);
  const faults: string[] = [];
  const reader = createConnectionReader(path.dirname(file), banks, faults);
  const content = reader.text(path.basename(file), FILE);
  const value = content === null ? null : parseJson(content, faults);
  if (faults.length > 0) return { faults };
  faults.push(...schemaFaults(RailsFile, value, ''), ...entryFaults(value, protocols));
  if (faults.length > 0 || !Check(RailsFile, value)) return { faults };

  const names = value.rails.map((entry) => (entry as unknown as CommonEntry).name);
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
    faults.push(`${name}: several connections have this name`);
  }
  const read = value.rails.map((entry) => {
    reader.takeContents();
    const common = readCommon(entry as unknown as CommonEntry, reader, staging);
    const protocol = protocolNamed(entry.protocol, protocols);
    rejectUnreachable(common, protocol, reader);
    const connection = protocol.connect(entry, common, reader);
    const fingerprint = hash('sha256', JSON.stringify([entry, staging, reader.takeContents()]));
    return { common, connection: connection === null ? null : { ...connection, fingerprint } };
  });
  const routes = readRoutes(
    value.routes ?? [],
    read.map(({ common }) => common),
    reader,
  );
  const connections = read.map(({ connection }) => connection).filter((connection) => connection !== null);
  return faults.length > 0 ? { faults } : { connections, routes };
}

/** The faults of each entry whose protocol is known, also when other parts of the file are faulty. */
function entryFaults(value: unknown, protocols: readonly Protocol[]): string[] {
  const rails = isJsonObject(value) ? ownProperty(value, 'rails') : null;
  if (!Array.isArray(rails)) return [];
  return rails.flatMap((entry: unknown, index) => {
    const name = isJsonObject(entry) ? ownProperty(entry, 'protocol') : null;
    const protocol = protocols.find((each) => each.name === name);
    return protocol === undefined ? [] : schemaFaults(protocol.schema, entry, `/rails/${index}`);
  });
}

function protocolNamed(name: string, protocols: readonly Protocol[]): Protocol {
  const protocol = protocols.find((each) => each.name === name);
  if (protocol === undefined) throw new Error(`there is no protocol ${name}`);
  return protocol;
}

/** E-wallets and aliases are reached by means that only some protocols have. */
function rejectUnreachable({ name, banks }: RailSettings, protocol: Protocol, reader: ConnectionReader): void {
  const fault = (what: string): void => reader.fault(`${name}: banks: ${protocol.name} does not reach ${what}`);
  for (const bic of banks ?? []) {
    const bank = reader.find(bic);
    if (bank === null) continue;
    if (isEWallet(bank) && !protocol.reachesEWallets) fault('e-wallets');
    if (isAliasDirectory(bank) && !protocol.reachesAliases) fault('aliases');
  }
}

function readCommon(entry: CommonEntry, reader: ConnectionReader, staging: boolean): RailSettings {
  const { name, base_url: baseUrl, banks } = entry;
  const transport = readTransport(entry, { name, staging }, reader);
  reader.address(baseUrl, `${name}: base_url`);
  const bics = banks === '*' ? null : banks.map((code) => reader.bic(code, `${name}: banks`));
  return {
    name,
    baseUrl: baseUrl.replace(/\/$/, ''),
    banks: bics === null ? null : new Set(bics.filter((bic) => bic !== null)),
    limits: {
      perSecond: entry.quota_per_second ?? null,
      perDay: entry.quota_per_day ?? null,
      concurrencyMax: entry.concurrency_max ?? null,
      isShared: bics?.length !== 1,
    },
    ...(transport === undefined ? {} : { transport }),
  };
}

function parseJson(content: string, faults: string[]): unknown {
  try {
    return JSON.parse(content);
  } catch {
    faults.push(`${FILE} is not valid JSON`);
    return null;
  }
}

type SchemaError = ReturnType<typeof Errors>[1][number];

/** One sentence for each fault of a value, with its path after `at`. No sentence quotes the value. */
function schemaFaults(schema: TSchema, value: unknown, at: string): string[] {
  const [, errors] = Errors(schema, value);
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isInUnion = ({ instancePath, schemaPath }: SchemaError): boolean =>
    unions.some((union) => union.instancePath === instancePath && schemaPath.startsWith(`${union.schemaPath}/anyOf/`));

  return errors.flatMap((error) => {
    // Each unknown field is reported as a fault of its own already.
    if (error.keyword === 'additionalProperties' || isInUnion(error)) return [];
    const { instancePath } = error;
    const place = `${at}${instancePath}` || '/';
    if (error.keyword !== 'anyOf') return [`${FILE} ${place} ${messageOf(error)}`];
    // A fault inside the value says more than the list of alternatives for the whole of it.
    if (errors.some((other) => other.instancePath.startsWith(`${instancePath}/`))) return [];
    const alternatives = errors.filter((other) => isInUnion(other) && other.instancePath === instancePath);
    const isConstant = ({ schemaPath }: SchemaError): boolean =>
      alternatives.some((other) => other.keyword === 'const' && other.schemaPath === schemaPath);
    const messages = alternatives.filter((each) => each.keyword !== 'type' || !isConstant(each)).map(messageOf);
    return [`${FILE} ${place} ${messages.join(', or ')}`];
  });
}

function messageOf(error: SchemaError): string {
  if (error.keyword === 'boolean') return 'is not a known field';
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue)}`;
  return error.message;
}
