/** `Accept-Language` and `Content-Language` in the OpenAPI description (docs/contract.md 2.6). */
export const LANGUAGE_PARAMETERS = {
  AcceptLanguage: {
    name: 'Accept-Language',
    in: 'header' as const,
    required: false,
    description: 'RFC 9110: the language of `message` and `failure_reason`, English (`en`) or Indonesian (`id`).',
    schema: { type: 'string' as const, default: 'en' },
    example: 'id',
  },
};

export const LANGUAGE_RESPONSE_HEADERS = {
  ContentLanguage: {
    description: 'The language of the answer.',
    schema: { type: 'string' as const, enum: ['en', 'id'] },
    example: 'en',
  },
};

/** The part of an operation that is described here. */
interface DescribedOperation {
  parameters?: readonly unknown[];
  readonly responses?: Readonly<Record<string, { readonly content?: unknown; headers?: object }>>;
}

/** Adds both headers: to every operation, and to every response that has content. */
export function describeLanguage(paths: object = {}): void {
  for (const operations of Object.values(paths) as Readonly<Record<string, DescribedOperation>>[]) {
    for (const operation of Object.values(operations)) {
      operation.parameters = [...(operation.parameters ?? []), { $ref: '#/components/parameters/AcceptLanguage' }];
      for (const response of Object.values(operation.responses ?? {})) {
        if (response.content === undefined) continue;
        const header = { 'Content-Language': { $ref: '#/components/headers/ContentLanguage' } };
        response.headers = { ...response.headers, ...header };
      }
    }
  }
}
