// Usage: node openapi-3.0.mjs openapi.json openapi-3.0.json
//
// Writes openapi.json for generators that read OpenAPI 3.0 only. Callbacks are left out, all errors share one schema
// (codes may be added, so `error_code` is a text), and no schema begins with "New", as constructors in Go do.
import { readFileSync, writeFileSync } from 'node:fs';

const [input, output] = process.argv.slice(2);
const text = readFileSync(input, 'utf8').replaceAll(
  /#\/components\/schemas\/New(\w+)/g,
  '#/components/schemas/$1Request',
);
const { webhooks: _webhooks, components, paths, info, ...document } = JSON.parse(text);
const { identifier: _identifier, ...license } = info.license ?? {};

const ERROR = {
  type: 'object',
  required: ['success', 'message', 'error_code'],
  properties: { success: { type: 'boolean' }, message: { type: 'string' }, error_code: { type: 'string' } },
};
const isError = (status) => !/^[23]/.test(status);
const withoutKeys = (object, ...keys) =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));

/** Names of properties are kept, whatever they are called. */
function schema(value) {
  if (typeof value !== 'object' || value === null) return value;
  const { const: only, anyOf, allOf, oneOf, items, properties, additionalProperties, ...rest } = value;
  const result = withoutKeys(rest, 'examples', 'pattern', 'propertyNames', 'discriminator');
  if (typeof only === 'string') result.enum = [only];
  if (properties) result.properties = map(properties, schema);
  if (items) result.items = schema(items);
  if (typeof additionalProperties === 'object') result.additionalProperties = schema(additionalProperties);
  for (const [key, kinds] of Object.entries({ allOf, oneOf })) if (kinds) result[key] = kinds.map(schema);
  if (anyOf) {
    const kinds = anyOf.filter(({ type }) => type !== 'null').map(schema);
    if (kinds.length < anyOf.length) result.nullable = true;
    if (kinds.length > 1) result.anyOf = kinds;
    else Object.assign(result, '$ref' in kinds[0] ? { allOf: kinds } : kinds[0]);
  }
  return result;
}
const map = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

const media = (content) => map(content, (each) => ({ schema: schema(each.schema) }));
const parameter = (each) =>
  each.$ref ? each : { ...withoutKeys(each, 'examples', 'example'), schema: schema(each.schema) };
const header = (each) => (each.$ref ? each : { description: each.description, schema: schema(each.schema) });
const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
const response = (each, status) => ({
  description: each.description ?? 'An error.',
  ...(each.headers ? { headers: map(each.headers, header) } : {}),
  ...(isError(status) ? { content: error } : each.content ? { content: media(each.content) } : {}),
});
const operation = (each) => ({
  ...each,
  ...(each.parameters ? { parameters: each.parameters.map(parameter) } : {}),
  ...(each.requestBody ? { requestBody: { ...each.requestBody, content: media(each.requestBody.content) } } : {}),
  responses: map(each.responses, response),
});

const schemas = Object.entries(components.schemas).filter(
  ([name]) => !/Error(?:Response)?$|^Error/.test(name) || /^(?:Row|Transaction|NoVerdict|OAuth)Error$/.test(name),
);
writeFileSync(
  output,
  `${JSON.stringify(
    {
      ...document,
      openapi: '3.0.3',
      info: { ...info, license },
      paths: map(paths, (methods) => map(methods, operation)),
      components: {
        securitySchemes: components.securitySchemes,
        schemas: {
          Error: ERROR,
          ...Object.fromEntries(schemas.map(([name, each]) => [name.replace(/^New(\w+)/, '$1Request'), schema(each)])),
        },
        parameters: map(components.parameters, parameter),
        headers: map(components.headers, header),
      },
    },
    null,
    2,
  )}\n`,
);
