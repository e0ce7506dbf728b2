import assert from 'node:assert/strict';

/** A schema of openapi.json, with what the service's documents use of JSON Schema. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly const?: string | boolean;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly { name?: string; in?: string; required?: boolean; schema?: Schema }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const COLUMNS_MAX = 120;
const JSON_TYPE = 'application/json';

/** Renders the types, operations and codes of `@tiba/client` from openapi.json. Reason: docs/decisions/0033-client-package.md. */
export function renderClientTypes(openapi: string): string {
  const { webhooks, components } = JSON.parse(openapi) as ApiDocument;
  const callbacks = Object.values(webhooks).map(({ post }) => typeOf(jsonSchema(post.requestBody)));
  const callbackType = `export type Callback = ${callbacks.join(' | ')};`;
  const codes = constant(
    'ERROR_CODES',
    'Every `error_code` of the service (docs/contract.md 7.1).',
    errorCodes(components.schemas),
  );
  return renderTypes(openapi, { file: 'openapi.json', prefix: '/api/' }, [codes], callbackType);
}

/** Renders the types and operations of the console from openapi-operator.json. */
export const renderConsoleTypes = (openapi: string): string =>
  renderTypes(openapi, { file: 'openapi-operator.json', prefix: '/operator/' });

function renderTypes(
  openapi: string,
  { file, prefix }: { readonly file: string; readonly prefix: string },
  constants: readonly string[] = [],
  callbackType = '',
): string {
  const { paths, components } = JSON.parse(openapi) as ApiDocument;
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith(prefix))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );
  const types = operations.map(({ operation }) => operationType(operation, components.schemas));
  const names = reachable([...types, callbackType].join('\n'), components.schemas);
  return `${[
    `/** Generated from ${file}. Do not edit: run \`npm run generate\`. */`,
    '/** An exact decimal, such as `150000.00`. */\nexport type Decimal = `${number}.${number}`;',
    constant(
      'DECIMAL_FIELDS',
      'The fields that are a `Decimal`, wherever they stand.',
      decimalFields(names.map((name) => components.schemas[name] ?? {})),
    ),
    ...constants,
    ...names.map((name) => declaration(name, components.schemas[name] ?? {})),
    ...(callbackType === '' ? [] : [`/** What a callback carries. */\n${callbackType}`]),
    `/** What each operation takes and answers in \`data\`, by its operationId. */\nexport interface Operations {\n${types.join('\n')}\n}`,
    `/** Method and path of each operation. */\nexport const OPERATIONS = {\n${operations
      .map(({ path, method, operation }) => `  ${operation.operationId}: ['${method}', '${path}'],`)
      .join('\n')}\n} as const;`,
  ].join('\n\n')}\n`;
}

const jsonSchema = (content: Content | undefined): Schema => content?.content?.[JSON_TYPE]?.schema ?? {};

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return either.map(typeOf).join(' | ');
  if (schema.type === 'array') {
    const item = typeOf(schema.items ?? {});
    return `readonly ${item.includes(' | ') ? `(${item})` : item}[]`;
  }
  if (schema.type === 'number') return schema.format === 'decimal' ? 'Decimal' : 'number';
  if (schema.type === 'integer') return 'number';
  if (schema.type === 'string' || schema.type === 'boolean' || schema.type === 'null') return schema.type;
  throw new Error(`client-types.ts cannot render ${JSON.stringify(schema)}: teach it this form`);
}

const literal = (value: string | boolean): string => (typeof value === 'string' ? `'${value}'` : String(value));

function declaration(name: string, schema: Schema): string {
  const comment = documentation(schema.description, '');
  if (schema.properties === undefined) return `${comment}export type ${name} = ${broken(typeOf(schema))};`;
  const fields = Object.entries(schema.properties).map(
    ([field, value]) =>
      documentation(value.description, '  ') +
      property(field, typeOf(value), schema.required?.includes(field) === true),
  );
  return `${comment}export interface ${name} {\n${fields.join('\n')}\n}`;
}

/** An optional field also takes undefined: callers pass on what they may not have. */
const property = (name: string, type: string, required: boolean, indent = '  '): string =>
  `${indent}readonly ${/^\w+$/.test(name) ? name : `'${name}'`}${required ? '' : '?'}: ${type}${required ? '' : ' | undefined'};`;

function operationType(operation: Operation, schemas: Readonly<Record<string, Schema>>): string {
  const parameters = (place: string): string => {
    const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
    const fields = found.map(({ name = '', schema = {}, required }) =>
      property(name, typeOf(schema), required === true, '      '),
    );
    return fields.length === 0 ? 'null' : `{\n${fields.join('\n')}\n    }`;
  };
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
  const envelope = schemas[nameOf(jsonSchema(success).$ref ?? '')];
  assert.ok(envelope?.properties?.['data'], `${operation.operationId} has no data`);
  const fields = [
    `    readonly path: ${parameters('path')};`,
    `    readonly query: ${parameters('query')};`,
    `    readonly body: ${operation.requestBody === undefined ? 'null' : typeOf(jsonSchema(operation.requestBody))};`,
    `    readonly data: ${typeOf(envelope.properties['data'])};`,
  ];
  return `${documentation(operation.summary, '  ')}  readonly ${operation.operationId}: {\n${fields.join('\n')}\n  };`;
}

/** A union that is longer than a line has one member on each. */
const broken = (type: string): string =>
  type.length > COLUMNS_MAX / 2 && !type.includes('(') ? `\n  | ${type.split(' | ').join('\n  | ')}` : type;

function documentation(text: string | undefined, indent: string): string {
  if (text === undefined) return '';
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && `${indent} * ${line} ${word}`.length > COLUMNS_MAX - 3) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`.trim();
  }
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

/** The schemas that a text names, and those that they name, in the order of their names. */
function reachable(text: string, schemas: Readonly<Record<string, Schema>>): string[] {
  const found = new Set<string>();
  const visit = (words: string): void => {
    for (const [word] of words.matchAll(/\b[A-Z]\w+/g)) {
      const schema = schemas[word];
      if (schema === undefined || found.has(word)) continue;
      found.add(word);
      visit([...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name).join(' '));
    }
  };
  visit(text);
  return [...found].sort();
}

function decimalFields(schemas: readonly Schema[]): string[] {
  const fields = schemas.flatMap(({ properties = {} }) => Object.entries(properties));
  const isDecimal = ({ format }: Schema): boolean => format === 'decimal';
  const names = new Set(fields.filter(([, schema]) => isDecimal(schema)).map(([name]) => name));
  const other = fields.find(([name, schema]) => names.has(name) && !isDecimal(schema));
  assert.equal(other, undefined, `${other?.[0]} is a decimal in one schema and something else in another`);
  return [...names];
}

const errorCodes = (schemas: Readonly<Record<string, Schema>>): string[] =>
  (schemas['ErrorResponse']?.oneOf ?? []).map(({ $ref = '' }) => {
    const code = schemas[nameOf($ref)]?.properties?.['error_code']?.const;
    assert.ok(typeof code === 'string', `${$ref} has no error_code`);
    return code;
  });

const constant = (name: string, comment: string, values: readonly string[]): string =>
  `/** ${comment} */\nexport const ${name} = [\n${values.map((value) => `  '${value}',\n`).join('')}] as const;`;
