import fc from 'fast-check';
import type { FastRequest } from './fast-client.ts';

/** Random requests: mostly malformed, and some that are valid. */

export interface RandomRequest extends FastRequest {
  readonly target: string;
}

/** Printable characters that an HTTP client can put into a request line. The text need not be a valid URL. */
const urlText = fc.string({ unit: fc.constantFrom(...urlCharacters()), maxLength: 40 });
/** Any code points, including lone surrogates. (fast-check's own units for this take seconds to build their tables.) */
const anyText = fc
  .array(fc.oneof(fc.integer({ max: 0x24f, min: 0 }), fc.integer({ max: 0x10ffff, min: 0 })), { maxLength: 140 })
  .map((points) => String.fromCodePoint(...points));
const encodedBytes = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''));

const identifier = fc.oneof(
  fc.constantFrom('TB0000000001', 'INV%2F2026%2F001', 'NONE', '', '%', '%00', '%ED%A0%80', '..', '%2e%2e', '%2F'),
  urlText,
  encodedBytes,
  anyText.map((text) => encodeURIComponent(text.toWellFormed())),
);

const query = fc.oneof(
  fc.constant(''),
  identifier.map((value) => `?reference_id=${value}`),
  fc
    .array(fc.tuple(fc.oneof(fc.constant('reference_id'), identifier), identifier), { maxLength: 4 })
    .map((pairs) => `?${pairs.map((pair) => pair.join('=')).join('&')}`),
  urlText.map((text) => `?${text}`),
);

const path = fc.oneof(
  { weight: 4, arbitrary: identifier.map((value) => `/api/v1/check-status/${value}`) },
  { weight: 3, arbitrary: fc.constantFrom('/api/v1/check-status', '/api/v1/check-account') },
  { weight: 1, arbitrary: fc.constantFrom('/', '/oauth/jwks', '/api/v1', '//', '/openapi.json', '/.well-known/x') },
  { weight: 2, arbitrary: urlText.map((text) => `/${text}`) },
);

const digit = fc.integer({ min: 0, max: 9 }).map(String);

/** Without the endings that make the simulated bank time out: each would take seconds. */
const accountNumber = fc
  .oneof(
    fc.string({ unit: digit, maxLength: 40 }),
    fc.constantFrom('1234567890', '1234560404', '1234560403', '1234560503', '1234560500'),
  )
  .map((digits) => digits.replace(/0504$/, '0505'));
const mobileNumber = fc
  .tuple(fc.constantFrom('0', '62', '+62', '+', ''), fc.string({ unit: digit, minLength: 3, maxLength: 12 }))
  .map(([prefix, digits]) => `${prefix}8${digits}`.replace(/0504$/, '0505'));
const emailAddress = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...'aZ0.+-_@é '.split('')), maxLength: 12 }),
    fc.constantFrom('', '0404', '0503', '0500'),
    fc.constantFrom('example.com', 'Example.co.id', 'localhost', 'a..b', '-.x'),
  )
  .map(([name, ending, domain]) => `${name}${ending}@${domain}`);

const field = fc.oneof(accountNumber, fc.constantFrom('014', 'bca', 'CENAIDJA', '999'), anyText, fc.jsonValue());

const json = fc.oneof(
  fc.record({ bank_code: fc.constantFrom('014', '009', 'BCA', 'NOPE'), account_number: accountNumber }),
  fc.record({
    bank_code: fc.constantFrom('GOPAY', 'ovo', 'BIFAST', 'BI-FAST'),
    account_number: fc.oneof(mobileNumber, emailAddress, accountNumber),
  }),
  // A number that e-wallets and aliases have: few random ones are valid.
  fc.record({ bank_code: fc.constantFrom('GOPAY', 'ovo', 'BIFAST'), account_number: fc.constant('081234567890') }),
  fc.record({ bank_code: field, account_number: field, x: fc.jsonValue() }, { requiredKeys: [] }),
  fc.jsonValue(),
);

const body = fc.oneof(
  { weight: 5, arbitrary: json.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: anyText },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.tuple(json, fc.nat(200)).map(([value, cut]) => JSON.stringify(value).slice(0, cut)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(16_385), '['.repeat(9_000), '{"a":'.repeat(2_000), '\ufeff{}', ''),
  },
);

const headerValue = fc.string({ unit: fc.constantFrom(...headerCharacters()), maxLength: 60 });

/** `tokens` are valid. Each request has one of them, a damaged one, or none. */
export function randomRequests(tokens: readonly string[]): fc.Arbitrary<RandomRequest> {
  const token = fc.constantFrom(...tokens);
  const authorization = fc.oneof(
    { weight: 12, arbitrary: token.map((each) => `Bearer ${each}`) },
    { weight: 1, arbitrary: fc.tuple(token, fc.nat(300)).map(([each, cut]) => `Bearer ${each.slice(0, cut)}`) },
    { weight: 1, arbitrary: headerValue },
  );
  const headers = fc.record(
    {
      authorization,
      accept: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('application/json', '*/*', 'text/html, application/json;q=0.5') },
        { weight: 1, arbitrary: fc.constantFrom('text/html', 'application/json;q=0') },
        { weight: 1, arbitrary: headerValue },
      ),
      'content-type': fc.oneof(
        { weight: 8, arbitrary: fc.constant('application/json') },
        { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json;charset=latin1', 'a/b;', ';=') },
        { weight: 1, arbitrary: headerValue },
      ),
      'content-encoding': fc.oneof(
        { weight: 6, arbitrary: fc.constant('identity') },
        { weight: 1, arbitrary: fc.constantFrom('gzip', 'x') },
      ),
      'x-request-id': headerValue,
      'x-forwarded-for': headerValue,
      'if-none-match': headerValue,
      range: fc.constant('bytes=0-1'),
    },
    { requiredKeys: ['authorization', 'content-type'] },
  );
  const read = fc.record({ method: fc.constant('GET'), path, query, headers, body: fc.constant(null) });
  const check = fc.record({
    method: fc.constant('POST'),
    path: fc.constant('/api/v1/check-account'),
    query: fc.constant(''),
    headers,
    body,
  });
  const other = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'),
    path,
    query,
    headers,
    body,
  });
  return fc
    .oneof({ weight: 4, arbitrary: read }, { weight: 3, arbitrary: check }, { weight: 1, arbitrary: other })
    .map(({ path, query, method, headers, body }) => ({ target: path + query, method, headers, body }));
}

/** Every printable ASCII character except the space; those with a meaning in URLs occur more often. */
function urlCharacters(): string[] {
  const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
  return [...printable, '%', '%', '%', '/', '/', '?', '&', '=', '+', '.'];
}

function headerCharacters(): string[] {
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index));
  return [...printable, ',', ';', '=', '/', '*', '"'];
}
