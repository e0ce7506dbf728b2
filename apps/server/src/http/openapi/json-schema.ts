/** The keywords of JSON Schema that the description of the API looks at. */
export interface JsonSchema {
  readonly title?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/**
 * An example of a value that the schema allows: the schema's own, or one that is put together from those of its parts.
 * Undefined when a part is a string without an example.
 */
export function exampleOf(schema: JsonSchema): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if ('default' in schema) return schema.default;
  const [variant] = schema.anyOf ?? schema.oneOf ?? [];
  if (variant !== undefined) return exampleOf(variant);
  switch (schema.type) {
    case 'object':
      return exampleOfObject(schema);
    case 'array': {
      const item = exampleOf(schema.items ?? {});
      return item === undefined ? undefined : [item];
    }
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case undefined:
    default:
      return undefined;
  }
}

function exampleOfObject({ properties = {}, required = [] }: JsonSchema): unknown {
  const example: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties)) {
    const value = exampleOf(property);
    if (value !== undefined) example[name] = value;
    else if (required.includes(name)) return undefined;
  }
  return example;
}
