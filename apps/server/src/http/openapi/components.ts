import { isDeepStrictEqual } from 'node:util';

/** Parts of a description that are written once and referenced (OpenAPI 3.1, section 4.8.7). */
export type Components = Record<string, unknown>;

/** What is below these keys is a value or a name, and never a schema. */
const NOT_SCHEMAS: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const', 'mapping']);

/**
 * Moves each schema with a `title` to the component of that name, and leaves a reference. The name is what an SDK calls
 * the type. Returns the rest; `node` stays as it is.
 * @throws Error when two different schemas have the same title
 */
export function extractSchemas(node: unknown, schemas: Components): unknown {
  if (Array.isArray(node)) return node.map((each) => extractSchemas(each, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const extracted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    extracted[key] = NOT_SCHEMAS.has(key) ? value : extractSchemas(value, schemas);
  }
  // Some code generators take an enum without a type for anything.
  if (Array.isArray(extracted['enum']) && extracted['type'] === undefined) extracted['type'] = 'string';
  const { title } = extracted;
  if (typeof title !== 'string') return extracted;
  addComponent(schemas, title, extracted);
  return { $ref: schemaReference(title) };
}

export const schemaReference = (title: string): string => `#/components/schemas/${title}`;

/** @throws Error when the name means another component already */
export function addComponent(components: Components, name: string, component: unknown): void {
  const present = components[name];
  if (present !== undefined && !isDeepStrictEqual(present, component)) {
    throw new Error(`two different components of the OpenAPI document are named ${name}: give one another title`);
  }
  components[name] = component;
}
