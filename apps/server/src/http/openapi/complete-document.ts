import { AnyError } from '../schemas.ts';
import { addComponent, type Components, extractSchemas } from './components.ts';
import { exampleOf, type JsonSchema } from './json-schema.ts';
import { commonHeaders, RESPONSE_HEADERS, type ResponseHeader } from './response-headers.ts';

/** The parts of an OpenAPI 3.1 document that this file reads and completes. */
export interface OpenApiDocument {
  readonly components: Record<string, unknown>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks?: unknown;
}

interface Operation {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Parameter extends Media {
  readonly description?: string;
}

interface Media {
  readonly schema?: MarkedSchema;
  readonly example?: unknown;
  readonly examples?: unknown;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

/** What `successResponse` and `errorResponses` note about the response of a schema. */
interface MarkedSchema extends JsonSchema {
  readonly description?: string;
  readonly 'x-headers'?: readonly ResponseHeader[];
  readonly 'x-alternatives'?: Readonly<Record<string, string>>;
  readonly 'x-component'?: string;
}

const JSON_TYPE = 'application/json';

/**
 * Completes what the schemas of the operations describe: examples, headers and further media types of responses, the
 * response to other errors; and moves schemas, headers and error responses to components.
 */
export function completeDocument(document: OpenApiDocument, forClients: boolean): OpenApiDocument {
  const schemas: Components = {};
  const responses: Components = {};
  const headers: Components = {};

  function completeOperation(operation: Operation): unknown {
    const { parameters = [], requestBody } = operation;
    const limited = forClients && (operation.security ?? []).some((requirement) => 'accessToken' in requirement);
    return {
      ...operation,
      parameters: [...parameters.map(completeParameter), ...(forClients ? [ACCEPT_LANGUAGE_REFERENCE] : [])],
      ...(requestBody === undefined
        ? {}
        : { requestBody: { ...requestBody, content: mapValues(requestBody.content, withExample) } }),
      responses: {
        ...mapValues(operation.responses, (response, status) => completeResponse(response, status, limited)),
        default: completeResponse(OTHER_ERROR, 'default', false),
      },
    };
  }

  function completeResponse({ description, content = {} }: Response, status: string, limited: boolean): unknown {
    const [media] = Object.values(content);
    const marks: MarkedSchema = media?.schema ?? {};
    const { 'x-headers': own = [], 'x-alternatives': alternatives = {}, 'x-component': component } = marks;
    // What needs no access token is OAuth's: only its errors have a language (docs/contract.md 2.6).
    const isOfOAuth = !limited && status.startsWith('2');
    const completed = {
      description,
      headers: headersNamed([
        ...own,
        ...commonHeaders({ status, limited, hasContent: media !== undefined, bilingual: forClients && !isOfOAuth }),
      ]),
      ...(media === undefined
        ? {}
        : {
            content: {
              ...mapValues(content, (each) => responseMedia(each, description)),
              ...mapValues(alternatives, textMedia),
            },
          }),
    };
    if (component === undefined) return completed;
    addComponent(responses, component, extractSchemas(completed, schemas));
    return { $ref: `#/components/responses/${component}` };
  }

  function headersNamed(names: readonly ResponseHeader[]): unknown {
    for (const name of names) headers[name] = RESPONSE_HEADERS[name];
    return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  }

  const paths = mapValues(document.paths, (methods) => mapValues(methods, completeOperation));
  const { webhooks } = document;
  return {
    ...document,
    paths: extractSchemas(paths, schemas) as OpenApiDocument['paths'],
    ...(webhooks === undefined ? {} : { webhooks: extractSchemas(webhooks, schemas) }),
    components: {
      ...document.components,
      ...(forClients ? { parameters: { AcceptLanguage: ACCEPT_LANGUAGE } } : {}),
      schemas: sorted(schemas),
      responses: sorted(responses),
      headers,
    },
  };
}

/** docs/contract.md 2.6. */
const ACCEPT_LANGUAGE = {
  name: 'Accept-Language',
  in: 'header',
  required: false,
  description: 'RFC 9110: the language of `message` and `failure_reason`, English (`en`) or Indonesian (`id`).',
  schema: { type: 'string', default: 'en' },
  example: 'id',
};
const ACCEPT_LANGUAGE_REFERENCE = { $ref: '#/components/parameters/AcceptLanguage' };

/** Errors that no operation causes by itself: no such route, a method that it does not have. */
const OTHER_ERROR: Response = {
  description: 'Any other error, such as a route or a method that does not exist.',
  content: { [JSON_TYPE]: { schema: { ...(AnyError as MarkedSchema), 'x-component': 'OtherError' } } },
};

/** `@fastify/swagger` moves the description from the schema to the parameter; a component keeps its own. */
function completeParameter(parameter: Parameter): Parameter {
  const { schema, description } = withExample(parameter);
  if (schema?.title === undefined || description === undefined) return withExample(parameter);
  return { ...withExample(parameter), schema: { ...schema, description } };
}

function withExample<T extends Media>(media: T): T {
  if (media.example !== undefined || media.examples !== undefined || media.schema === undefined) return media;
  const example = exampleOf(media.schema);
  return example === undefined ? media : { ...media, example };
}

/** Without the notes, and without the description, which is the response's. */
function responseMedia(media: Media, responseDescription: string): Media {
  const { schema, ...others } = withExample(media);
  if (schema === undefined) return others;
  const { 'x-headers': _headers, 'x-alternatives': _alternatives, 'x-component': _component, ...plain } = schema;
  const { description, ...undescribed } = plain;
  return { ...others, schema: description === responseDescription ? undescribed : plain };
}

const textMedia = (example: string): Media => ({ schema: { type: 'string' }, example });

const sorted = (components: Components): Components =>
  Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const mapValues = <T, U>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
