import type { TSchema } from 'typebox';
import { Errors } from 'typebox/schema';

type SchemaError = ReturnType<typeof Errors>[1][number];

/** What is wrong with a value, one sentence for each fault, with its place behind `at`. No sentence quotes the value. */
export function schemaFaults(schema: TSchema, value: unknown, at: string): string[] {
  const [, errors] = Errors(schema, value);
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isInUnion = ({ instancePath, schemaPath }: SchemaError): boolean =>
    unions.some((union) => union.instancePath === instancePath && schemaPath.startsWith(`${union.schemaPath}/anyOf/`));

  return errors.flatMap((error) => {
    // Each field that is not known is a fault of its own already.
    if (error.keyword === 'additionalProperties' || isInUnion(error)) return [];
    const { instancePath } = error;
    const place = `${at}${instancePath}` || '/';
    if (error.keyword !== 'anyOf') return [`${place} ${messageOf(error)}`];
    // Which part of it is wrong says more than what all of it might have been.
    if (errors.some((other) => other.instancePath.startsWith(`${instancePath}/`))) return [];
    const alternatives = errors.filter((other) => isInUnion(other) && other.instancePath === instancePath);
    const isConstant = ({ schemaPath }: SchemaError): boolean =>
      alternatives.some((other) => other.keyword === 'const' && other.schemaPath === schemaPath);
    const messages = alternatives.filter((each) => each.keyword !== 'type' || !isConstant(each)).map(messageOf);
    return [`${place} ${messages.join(', or ')}`];
  });
}

function messageOf(error: SchemaError): string {
  if (error.keyword === 'boolean') return 'is not a known field';
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue)}`;
  return error.message;
}
