import path from 'node:path';
import { type TSchema, Type } from 'typebox';
import { Check } from 'typebox/schema';
import type { BankDirectory } from '../domain/bank.ts';
import { isJsonObject } from '../lib/exact-json.ts';
import { ownProperty } from '../lib/own-property.ts';
import { type ConnectionReader, createConnectionReader } from './connection-reader.ts';
import type { CommonEntry, Connection, Protocol, RailSettings } from './protocol.ts';
import { PROTOCOLS } from './protocols.ts';
import { RouteEntry, type Routes, readRoutes } from './routes.ts';
import { schemaFaults } from './schema-faults.ts';
import { readTransport } from './transport.ts';

const FILE = 'TIBA_RAILS_FILE';

const railsFileOf = (protocols: readonly Protocol[]) =>
  Type.Object(
    {
      rails: Type.Array(Type.Object({ protocol: Type.Enum(protocols.map(({ name }) => name)) }), { minItems: 1 }),
      routes: Type.Optional(Type.Array(RouteEntry)),
    },
    { additionalProperties: false },
  );

export type RailsFileResult =
  | { readonly connections: Connection[]; readonly routes: Routes }
  | { readonly faults: string[] };

/** Reads the connections to banks; secrets stand in files of their own, relative to this one. All faults at once. */
export function readRailsFile(
  file: string,
  banks: BankDirectory,
  protocols: readonly Protocol[] = PROTOCOLS,
): RailsFileResult {
  const RailsFile = railsFileOf(protocols);
  const faults: string[] = [];
  const reader = createConnectionReader(path.dirname(file), banks, faults);
  const content = reader.text(path.basename(file), FILE);
  const value = content === null ? null : parseJson(content, faults);
  if (faults.length > 0) return { faults };
  faults.push(...faultsOf(RailsFile, value, ''), ...entryFaults(value, protocols));
  if (faults.length > 0 || !Check(RailsFile, value)) return { faults };

  const names = value.rails.map((entry) => (entry as unknown as CommonEntry).name);
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index))) {
    faults.push(`${name}: there are several connections of this name`);
  }
  const read = value.rails.map((entry) => {
    const common = commonOf(entry as unknown as CommonEntry, reader);
    return { common, connection: protocolNamed(entry.protocol, protocols).connect(entry, common, reader) };
  });
  const routes = readRoutes(
    value.routes ?? [],
    read.map(({ common }) => common),
    reader,
  );
  const connections = read.map(({ connection }) => connection).filter((connection) => connection !== null);
  return faults.length > 0 ? { faults } : { connections, routes };
}

/** Of each entry whose protocol is known, whatever is wrong around it. */
function entryFaults(value: unknown, protocols: readonly Protocol[]): string[] {
  const rails = isJsonObject(value) ? ownProperty(value, 'rails') : null;
  if (!Array.isArray(rails)) return [];
  return rails.flatMap((entry: unknown, index) => {
    const name = isJsonObject(entry) ? ownProperty(entry, 'protocol') : null;
    const protocol = protocols.find((each) => each.name === name);
    return protocol === undefined ? [] : faultsOf(protocol.schema, entry, `/rails/${index}`);
  });
}

function protocolNamed(name: string, protocols: readonly Protocol[]): Protocol {
  const protocol = protocols.find((each) => each.name === name);
  if (protocol === undefined) throw new Error(`there is no protocol ${name}`);
  return protocol;
}

function commonOf(entry: CommonEntry, reader: ConnectionReader): RailSettings {
  const { name, base_url: baseUrl, banks } = entry;
  const transport = readTransport(entry, name, reader);
  reader.address(baseUrl, `${name}: base_url`);
  const served = banks === '*' ? null : banks.map((code) => reader.bic(code, `${name}: banks`));
  return {
    name,
    baseUrl: baseUrl.replace(/\/$/, ''),
    banks: served === null ? null : new Set(served.filter((bic) => bic !== null)),
    contract: {
      perSecond: entry.quota_per_second ?? null,
      perDay: entry.quota_per_day ?? null,
      concurrencyMax: entry.concurrency_max ?? null,
      isShared: served?.length !== 1,
    },
    ...(transport === undefined ? {} : { transport }),
  };
}

const faultsOf = (schema: TSchema, value: unknown, at: string): string[] =>
  schemaFaults(schema, value, at).map((fault) => `${FILE} ${fault}`);

function parseJson(content: string, faults: string[]): unknown {
  try {
    return JSON.parse(content);
  } catch {
    faults.push(`${FILE} is not valid JSON`);
    return null;
  }
}
