import { type Static, Type } from 'typebox';
import type { Bank } from '../domain/bank.ts';
import type { ConnectionReader } from './connection-reader.ts';
import type { RailSettings } from './protocol.ts';
import type { Rail } from './rail.ts';

/** What the operator wants for one bank: the rails to ask, first choice first, and whether slow answers are hedged. */
export interface RouteSettings {
  /** The rails' names; null for all that reach the bank, in the order of the rails file. */
  readonly rails: readonly string[] | null;
  readonly hedge: boolean;
}

/** By the bank's BIC. */
export type Routes = ReadonlyMap<string, RouteSettings>;

/** The rails to a bank, first choice first. */
export function railsTo(bank: Bank, rails: readonly Rail[], routes: Routes): readonly Rail[] {
  const reaching = rails.filter((rail) => rail.reaches(bank));
  const order = routes.get(bank.bic)?.rails ?? null;
  if (order === null) return reaching;
  return order.flatMap((name) => reaching.filter((rail) => rail.name === name));
}

/** One entry of the rails file's `routes`. */
export const RouteEntry = Type.Object(
  {
    banks: Type.Array(Type.String(), { minItems: 1 }),
    rails: Type.Optional(Type.Array(Type.String(), { minItems: 1, uniqueItems: true })),
    hedge: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

type RouteEntry = Static<typeof RouteEntry>;

/** Rails that are not there, or do not reach the bank, are faults: the operator counts on them. */
export function readRoutes(
  entries: readonly RouteEntry[],
  connections: readonly RailSettings[],
  reader: ConnectionReader,
): Routes {
  const routes = new Map<string, RouteSettings>();
  for (const [index, { banks, rails = null, hedge = false }] of entries.entries()) {
    const at = `routes ${index}`;
    const named = (rails ?? []).map((name) => ({ name, found: connections.find((each) => each.name === name) }));
    for (const { name, found } of named) {
      if (found === undefined) reader.fault(`${at}: there is no connection ${name}`);
    }
    for (const code of banks) {
      const bic = reader.bic(code, `${at}: banks`);
      if (bic === null) continue;
      if (routes.has(bic)) reader.fault(`${at}: ${code} has another route`);
      routes.set(bic, { rails, hedge });
      for (const { name, found } of named) {
        if (found !== undefined && found.banks?.has(bic) === false)
          reader.fault(`${at}: ${name} does not reach ${code}`);
      }
    }
  }
  return routes;
}
