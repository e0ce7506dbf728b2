/** The response headers that clients use, each described once. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description: 'Identifies this request in the log of the service: quote it when you report a problem.',
    schema: { type: 'string' },
    example: 'q2Zs8mJ4nT1v-17',
  },
  'RateLimit-Policy': {
    description: 'IETF draft RateLimit header fields: `q` requests in any `w` seconds, for this client and operation.',
    schema: { type: 'string' },
    example: '"check-status";q=120;w=60',
  },
  RateLimit: {
    description: 'IETF draft RateLimit header fields: `r` requests are left; more are in `t` seconds.',
    schema: { type: 'string' },
    example: '"check-status";r=117;t=58',
  },
  'Retry-After': {
    description: 'When to repeat the request, in whole seconds.',
    schema: { type: 'integer', minimum: 1 },
    example: 10,
  },
  'WWW-Authenticate': {
    description: 'RFC 6750: why the token was refused, or which scope is missing. RFC 7617 for a login.',
    schema: { type: 'string' },
    example: 'Bearer realm="tiba", error="invalid_token", error_description="invalid or expired token"',
  },
  'Content-Language': {
    description: 'The language of the answer.',
    schema: { type: 'string', enum: ['en', 'id'] },
    example: 'en',
  },
  ETag: {
    description: 'The version of the transaction. Send it as `If-None-Match`: 304 if nothing has changed since.',
    schema: { type: 'string' },
    example: '"2"',
  },
  'Preference-Applied': {
    description: 'RFC 7240: the wait that was granted, in seconds.',
    schema: { type: 'string' },
    example: 'wait=30',
  },
  'Cache-Control': {
    description:
      '`no-store`; for a final status that the client accepts from a cache, `private` and for how many seconds.',
    schema: { type: 'string' },
    example: 'no-store',
  },
  Age: {
    description: 'The age of a verdict from the verdict cache, in seconds. Absent when the bank was asked.',
    schema: { type: 'integer', minimum: 0 },
    example: 42,
  },
  Link: {
    description:
      'RFC 8288: the address of the next page, with `rel="next"`. Absent on the last page. With 410, the address to ' +
      'go on from.',
    schema: { type: 'string' },
    example: '</api/v1/transactions?cursor=eyJ2IjoxfQ>; rel="next"',
  },
  Location: {
    description: 'The path of the new resource.',
    schema: { type: 'string', format: 'uri-reference' },
    example: '/api/v1/account-validations/av_5f0c1d2e3b4a59687786',
  },
} as const;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

const OF_STATUS: Readonly<Record<string, readonly ResponseHeader[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  410: ['Link'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** A response of an operation, as far as it decides which headers it has. */
interface DescribedResponse {
  readonly status: string;
  readonly hasContent: boolean;
  /** Whether the operation has a rate limit. */
  readonly limited: boolean;
  /** Whether it answers in the language that the client prefers (docs/contract.md 2.6). */
  readonly bilingual: boolean;
}

/** The headers of a response beyond those that its operation names. */
export const commonHeaders = ({
  status,
  hasContent,
  limited,
  bilingual,
}: DescribedResponse): readonly ResponseHeader[] => [
  'X-Request-Id',
  ...(OF_STATUS[status] ?? []),
  ...(bilingual && hasContent ? (['Content-Language'] as const) : []),
  ...(limited && (status.startsWith('2') || status === '429') ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
];
