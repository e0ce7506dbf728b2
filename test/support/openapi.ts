import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** The OpenAPI documents of both listeners, as checked in, and what they say about answers. */

export const DOCUMENTS = { public: 'openapi.json', operator: 'openapi-operator.json' } as const;
export type Listener = keyof typeof DOCUMENTS;

export interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Media & {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
  })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

export interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

const documents = new Map<Listener, Document>();
export function documentOf(listener: Listener): Document {
  const file = new URL(`../../${DOCUMENTS[listener]}`, import.meta.url);
  const document = documents.get(listener) ?? (JSON.parse(readFileSync(file, 'utf8')) as Document);
  documents.set(listener, document);
  return document;
}

/** Each operation of a document, with its path and its method in lower case. */
export const operationsOf = ({ paths }: Document): { path: string; method: string; operation: Operation }[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

/** The response that an operation describes for a status; undefined if it describes none. */
export function responseOf(document: Document, operation: Operation, status: string): Response | undefined {
  const response = operation.responses[status];
  if (response === undefined || !('$ref' in response)) return response;
  return document.components.responses[response.$ref.split('/').at(-1) ?? ''];
}

/** RFC 3339, section 5.6. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

const validators = new Map<object, ValidateFunction>();
const ajvs = new Map<Document, Ajv2020>();

/** Compiles a schema of a document, or returns it compiled before. */
export function validatorOf(document: Document, schema: object): ValidateFunction {
  const ajv = ajvs.get(document) ?? createAjv(document);
  ajvs.set(document, ajv);
  const validate = validators.get(schema) ?? ajv.compile(withAbsoluteReferences(schema));
  validators.set(schema, validate);
  return validate;
}

const BASE = 'openapi:';

function createAjv(document: Document): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // The linters judge the documents themselves. To compile the meta schema would cost each test file 40 ms.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
    formats: {
      'date-time': INSTANT,
      decimal: true as const,
      uri: (text: string) => URL.canParse(text),
      'uri-reference': true as const,
      binary: true as const,
    },
  });
  return ajv.addSchema({ $id: BASE, components: document.components });
}

const withAbsoluteReferences = (schema: object): object =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? BASE + value : value,
  ) as object;

/** Asserts that a value is as the schema of a document says. */
export function assertValid(document: Document, schema: object, value: unknown, name: string): void {
  const validate = validatorOf(document, schema);
  assert.ok(validate(value), `${name}: ${JSON.stringify(value)}\n${JSON.stringify(validate.errors)}`);
}
