import type pg from 'pg';

/** An index that was dropped, and how to create it again. */
export interface DroppedIndex {
  readonly name: string;
  readonly createSql: string;
  /** Makes the index the constraint that it was; null for an index that was none. */
  readonly constraintSql: string | null;
}

/** Of each page: about what an index has that grew entry by entry. Built at once it would be smaller than that. */
const FILL_PERCENT = 70;

interface IndexRow {
  readonly name: string;
  readonly table: string;
  readonly definition: string;
  readonly constraint_type: 'p' | 'u' | null;
}

/**
 * Drops the indexes of these tables, keys included: entries that are added one by one to large indexes take most of the
 * time of filling them. Returns them in the order in which they were created.
 */
export async function dropIndexes(client: pg.Client, tables: readonly string[]): Promise<DroppedIndex[]> {
  // An index of a partition that belongs to one of its parent goes and comes with that.
  const { rows } = await client.query<IndexRow>(
    `select quote_ident(c.relname) as name, i.indrelid::regclass::text as table,
            pg_get_indexdef(c.oid) as definition, k.contype as constraint_type
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = c.oid and k.contype in ('p', 'u')
      where i.indrelid = any ($1::text[]::regclass[]) and not c.relispartition
      order by c.oid`,
    [tables],
  );
  for (const { name, table, constraint_type: type } of rows)
    await client.query(type === null ? `drop index tiba.${name}` : `alter table ${table} drop constraint ${name}`);
  return rows.map(({ name, table, definition, constraint_type: type }) => ({
    name,
    createSql: withFillfactor(definition.replace(' ON ONLY ', ' ON ')),
    constraintSql:
      type === null
        ? null
        : `alter table ${table} add constraint ${name} ${type === 'p' ? 'primary key' : 'unique'} using index ${name}`,
  }));
}

/** The options of an index come before its condition. */
const withFillfactor = (definition: string): string =>
  definition.includes(' WITH (')
    ? definition.replace(' WITH (', ` WITH (fillfactor = ${FILL_PERCENT}, `)
    : definition.replace(/ WHERE |$/, (where) => ` WITH (fillfactor = ${FILL_PERCENT})${where}`);
