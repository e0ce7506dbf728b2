import { type Static, Type } from 'typebox';
import type { Bank } from '../domain/bank.ts';
import type { ConnectionReader } from './connection-reader.ts';
import type { RailSettings } from './protocol.ts';
import type { Rail } from './rail.ts';

/** The operator's route to one bank: its rails, first choice first, and whether slow inquiries are hedged. */
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

/**
 * A route over a rail that does not exist, or does not reach the bank, is a fault: the operator counts on that rail.
 */
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
      if (found === undefined) reader.fault(`${at}: no connection has the name ${name}`);
    }
    for (const code of banks) {
      const bic = reader.bic(code, `${at}: banks`);
      if (bic === null) continue;
      if (routes.has(bic)) reader.fault(`${at}: ${code} already has a route`);
      routes.set(bic, { rails, hedge });
      for (const { name, found } of named) {
        if (found !== undefined && found.banks?.has(bic) === false)
          reader.fault(`${at}: ${name} does not reach ${code}`);
      }
    }
  }
  return routes;
}
