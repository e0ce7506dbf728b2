import { anchorOf } from './anchors.ts';
import { type Content, type JsonSchema, type OpenApi, type Operation, type Response, resolve } from './openapi.ts';

/** The reference pages, made from openapi.json. */

const FOLDER = 'reference';
const SCHEMAS = 'schemas.md';

/** The pages by their path on the site: an overview, one for each tag, and one of all schemas. */
export function renderReference(api: OpenApi): Record<string, string> {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Route => ({ path, method: method.toUpperCase(), operation })),
  );
  const pages = api.tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return [`${FOLDER}/${fileOf(name)}`, renderTag(api, name, description, own)] as const;
  });
  return {
    [`${FOLDER}/index.md`]: renderOverview(api, operations),
    ...Object.fromEntries(pages),
    [`${FOLDER}/${SCHEMAS}`]: renderSchemas(api),
  };
}

interface Route {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

const fileOf = (tag: string): string => `${anchorOf(tag)}.md`;

const renderOverview = ({ tags }: OpenApi, routes: readonly Route[]): string =>
  lines(
    '# Reference',
    'Every operation of the API, from [openapi.json](../files/openapi.json). On the running service, `/reference` has',
    'a form to try each of them.',
    ...tags.flatMap(({ name }) => [
      '',
      `## ${name}`,
      '',
      '| operation | what it does |',
      '|---|---|',
      ...routes
        .filter(({ operation }) => operation.tags.includes(name))
        .map(({ path, method, operation: { summary } }) => {
          return `| \`${method} ${path}\` | [${cell(summary)}](./${fileOf(name)}#${anchorOf(summary)}) |`;
        }),
    ]),
  );

const renderTag = (api: OpenApi, name: string, description: string, routes: readonly Route[]): string =>
  lines(`# ${name}`, description, ...routes.flatMap((route) => ['', ...renderOperation(api, route)]));

function renderOperation(api: OpenApi, { path, method, operation }: Route): string[] {
  const { summary, description, security = [], requestBody, parameters = [], responses } = operation;
  const scopes = [...new Set(security.flatMap((each) => Object.values(each).flat()))];
  return [
    `## ${summary}`,
    '',
    '```http',
    `${method} ${path}`,
    '```',
    '',
    prose(description ?? ''),
    ...(scopes.length === 0 ? [] : ['', `Scope: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`]),
    ...table(
      ['parameter', 'in', 'type', 'required', 'meaning'],
      parameters
        .map((each) => resolve(api, each))
        .map(({ name, in: place, required, schema, description: meaning = '' }) => [
          `\`${name}\``,
          place,
          schema === undefined ? '' : typeOf(schema),
          required === true ? 'yes' : 'no',
          meaning,
        ]),
    ),
    ...Object.entries(requestBody?.content ?? {}).flatMap(([type, content]) => bodyLines(type, content)),
    '',
    'Answers:',
    ...table(
      ['HTTP', 'error_code', 'meaning'],
      Object.entries(responses).map(([status, given]) => answerRow(api, status, resolve(api, given))),
    ),
    ...successExample(api, responses),
  ];
}

const bodyLines = (type: string, { schema, example }: Content): string[] =>
  ['', `Body \`${type}\`${schema === undefined ? '' : `: ${typeOf(schema)}`}`].concat(code(example));

function answerRow(api: OpenApi, status: string, { description, content = {} }: Response): string[] {
  const { schema, examples = {} } = content['application/json'] ?? {};
  const codes = Number(status) >= 400 ? Object.keys(examples).filter((name) => /^[A-Z_]+$/.test(name)) : [];
  const data = Number(status) < 400 && schema !== undefined ? ` ${typeOf(dataOf(api, schema))}` : '';
  return [status, codes.map((each) => `\`${each}\``).join(', '), `${description}${data}`];
}

/** Of an envelope, what is in `data`. */
function dataOf(api: OpenApi, schema: JsonSchema): JsonSchema {
  const { properties = {} } = resolve(api, schema);
  return properties['success'] !== undefined && properties['data'] !== undefined ? properties['data'] : schema;
}

function successExample(api: OpenApi, responses: Operation['responses']): string[] {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'));
  if (success === undefined) return [];
  const { example, examples = {} } = resolve(api, success[1]).content?.['application/json'] ?? {};
  const value = example ?? examples['en']?.value ?? Object.values(examples)[0]?.value;
  return value === undefined ? [] : ['', 'Such as:', ...code(value)];
}

const renderSchemas = ({ components: { schemas } }: OpenApi): string =>
  lines(
    '# Schemas',
    'What is in the bodies. A field without `optional` is always there.',
    ...Object.entries(schemas)
      .filter(([name]) => !/(?:Response|Error)$/.test(name))
      .flatMap(([name, schema]) => ['', `## ${name}`].concat(renderSchema(schema))),
  );

function renderSchema(schema: JsonSchema): string[] {
  const { description, properties, required = [] } = schema;
  if (properties === undefined) return ['', [prose(description ?? ''), typeOf(schema)].filter(Boolean).join(' ')];
  const rows = Object.entries(properties).map(([field, each]) => [
    `\`${field}\``,
    typeOf(each) + (required.includes(field) ? '' : ', optional'),
    each.description ?? '',
  ]);
  return [...(description === undefined ? [] : ['', prose(description)]), ...table(['field', 'type', 'meaning'], rows)];
}

/** A type in words, such as `integer` or a link to its schema. */
function typeOf(schema: JsonSchema): string {
  const { $ref, enum: values, items, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return /(?:Response|Error)$/.test(name) ? '' : `[${name}](./${SCHEMAS}#${anchorOf(name)})`;
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map(typeOf).filter(Boolean).join(' or ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  const { format } = schema;
  return [type, format === undefined ? '' : `(${format})`].filter(Boolean).join(' ');
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0
    ? []
    : ['', row(head), row(head.map(() => '---')), ...rows.map((cells) => row(cells.map((text) => cell(text))))];

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Text in which nothing is read as HTML. */
const prose = (text: string): string =>
  text.replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? '&lt;' : found)).replaceAll(/\n+/g, ' ');

const cell = (text: string): string => prose(text).replaceAll('|', String.raw`\|`);

const code = (example: unknown): string[] => {
  if (example === undefined) return [];
  const isText = typeof example === 'string';
  return ['', isText ? '```' : '```json', isText ? example.trimEnd() : JSON.stringify(example, null, 2), '```'];
};

const lines = (title: string, ...rest: readonly string[]): string => `${[title, '', ...rest].join('\n')}\n`;
