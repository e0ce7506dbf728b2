import { type Document, documentOf, type Listener, operationsOf, responseOf } from '../support/openapi.ts';

/** The errors that the OpenAPI documents describe: for each operation, its HTTP statuses and codes. */

interface Schema {
  readonly $ref?: string;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly const?: string;
  readonly enum?: readonly string[];
}

/** What an answer is compared by. OAuth's errors have no status here: one schema describes them for all statuses. */
export const errorKey = (method: string, template: string, status: number | string, code: string): string =>
  /^[a-z_]+$/.test(code)
    ? `${method.toUpperCase()} ${template} ${code}`
    : `${method.toUpperCase()} ${template} ${status} ${code}`;

export const describedErrors = (listener: Listener): string[] => {
  const document = documentOf(listener);
  return operationsOf(document).flatMap(({ path, method, operation }) =>
    Object.keys(operation.responses).flatMap((status) => {
      const schema = responseOf(document, operation, status)?.content?.['application/json']?.schema;
      const isError = status >= '400' && status !== 'default' && schema !== undefined;
      return isError ? codesOf(document, schema).map((code) => errorKey(method, path, status, code)) : [];
    }),
  );
};

/** Codes of the envelope, or of OAuth. */
function codesOf(document: Document, schema: Schema): string[] {
  if (schema.$ref !== undefined) return codesOf(document, referred(document, schema.$ref));
  if (schema.oneOf !== undefined) return schema.oneOf.flatMap((each) => codesOf(document, each));
  const { error_code: code, error } = schema.properties ?? {};
  if (code?.const !== undefined) return [code.const];
  if (error === undefined) return [];
  return [...((error.$ref === undefined ? error : referred(document, error.$ref)).enum ?? [])];
}

const referred = ({ components }: Document, reference: string): Schema =>
  components.schemas[reference.split('/').at(-1) ?? ''] ?? {};
