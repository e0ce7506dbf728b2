import type { Canaries } from '../canaries.ts';
import type { Draws } from '../draws.ts';

/** Random values: some as an operation expects them, most of them not. */
export interface RandomValues {
  text(): string;
  /** Any JSON value. */
  json(depth?: number): unknown;
  /** A value for a field, or for a parameter, by its name and its schema in openapi.json. */
  forSchema(name: string, schema: Schema, depth?: number): unknown;
  /** As it may stand in a path or a query, encoded or not. */
  inUrl(name: string): string;
  header(): string;
}

/** The part of JSON Schema that openapi.json uses in requests. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const DEPTH_MAX = 3;
const VISIBLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
const TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  'null',
  'true',
  '1e999',
  '../../etc/passwd',
  "' or 1=1 --",
  '\0',
  '\uD800',
  '\u202Eabc',
  '１２３４５６７８９０',
  '<script>',
  '{"a":1}',
  '\r\nX-Injected: yes',
  '%00',
  '%',
  '٣',
  '🏦'.repeat(40),
  'x'.repeat(600),
];
const URL_PIECES = ['%', '%00', '%ED%A0%80', '..', '%2e%2e', '%2F', 'TB0000000001', 'NONE', '', '0', '9'.repeat(40)];

export function createRandomValues(draws: Draws, canaries: Canaries, receiverPort: number): RandomValues {
  const urls = urlsFor(receiverPort);
  const known = knownFields(draws, canaries, urls);
  const characters = (count: number): string => Array.from({ length: count }, () => draws.pick(VISIBLE)).join('');
  const codePoints = (): string =>
    String.fromCodePoint(...Array.from({ length: draws.below(20) }, () => draws.below(0x11_00_00)));

  function text(): string {
    switch (draws.below(5)) {
      case 0:
        return draws.pick(TEXTS);
      case 1:
        return characters(draws.below(40));
      case 2:
        return codePoints();
      case 3:
        return canaries.accountNumber();
      default:
        return canaries.accountName();
    }
  }

  function json(depth = 0): unknown {
    const kind = draws.below(depth < DEPTH_MAX ? 8 : 6);
    if (kind < 3) return text();
    if (kind === 3) return draws.pick([0, -1, 1.5, 2 ** 53, 1e300, draws.below(1_000_000)]);
    if (kind === 4) return null;
    if (kind === 5) return draws.chance(0.5);
    const items = Array.from({ length: draws.below(4) }, () => json(depth + 1));
    if (kind === 6) return items;
    return Object.fromEntries(items.map((item) => [draws.chance(0.1) ? '__proto__' : characters(3), item]));
  }

  function forSchema(name: string, schema: Schema, depth = 0): unknown {
    if (draws.chance(0.06)) return name === 'url' ? draws.pick(urls) : json();
    const value = known[name];
    if (value !== undefined && draws.chance(0.9)) return value();
    if (name === 'url') return draws.pick(urls);
    if (schema.enum !== undefined) return draws.pick(schema.enum);
    if (schema.properties !== undefined) {
      const fields = Object.entries(schema.properties).filter(() => draws.chance(0.85));
      return Object.fromEntries(fields.map(([field, each]) => [field, forSchema(field, each, depth + 1)]));
    }
    if (schema.items !== undefined) {
      const { items } = schema;
      return Array.from({ length: draws.below(draws.chance(0.02) ? 120 : 5) }, () => forSchema('', items, depth + 1));
    }
    if (schema.type === 'boolean') return draws.chance(0.5);
    if (schema.type === 'integer') return draws.pick([0, 1, 100, -1, 1.5, 2 ** 60]);
    return text();
  }

  return {
    text,
    json,
    forSchema,
    inUrl(name) {
      const value = known[name];
      if (value !== undefined && draws.chance(0.4)) return encodeURIComponent(String(value()));
      if (draws.chance(0.3)) return draws.pick(URL_PIECES);
      if (draws.chance(0.3)) return characters(draws.below(30)).replaceAll(/[#?]/g, '');
      return encodeURIComponent(text().toWellFormed());
    },
    header: () => (draws.chance(0.5) ? characters(draws.below(40)) : canaries.accountNumber()),
  };
}

/** Names that would have to be resolved are left out: the load stays on this machine. */
function urlsFor(receiverPort: number): readonly string[] {
  return [
    `https://127.0.0.1:${receiverPort}/fuzz`,
    'https://127.0.0.1:1/fuzz',
    'http://127.0.0.1/',
    'https://[::1]/',
    'https://10.0.0.1/',
    'https://2130706433/',
    'https://user:password@127.0.0.1/',
    'file:///etc/passwd',
    'https://',
    'nothing',
  ];
}

/** What the well-known fields may contain. */
function knownFields(
  draws: Draws,
  canaries: Canaries,
  urls: readonly string[],
): Readonly<Record<string, () => unknown>> {
  return {
    url: () => draws.pick(urls),
    client_id: () => 'fuzz',
    transaction_id: () => `FUZZ${draws.digits(6)}`,
    reference_id: () => `fuzz ${draws.below(1_000)}`,
    account_number: () => (draws.chance(0.7) ? canaries.accountNumber() : draws.digits(draws.below(40))),
    account_name: () => canaries.accountName(),
    expected_account_name: () => canaries.accountName(),
    bank_code: () => draws.pick(['014', '008', 'BCA', 'CENAIDJA', '999', 'nope']),
    status: () => draws.pick(['PROCESS', 'SUCCESS', 'FAILED']),
    amount: () => draws.pick(['100.00', 1, '0', '-1', '1e3', '9'.repeat(30)]),
    failure_reason: () => draws.pick(['ACCOUNT_BLOCKED', 'x']),
  };
}
