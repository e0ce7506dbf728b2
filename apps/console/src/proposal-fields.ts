/** What a proposal changes, field by field. Pure. */

export type FieldValue = string | number | boolean | null;

export interface Field {
  /** As the state of the client or the endpoint names it: the names of its objects, joined by dots. */
  readonly name: string;
  readonly value: FieldValue;
}

export interface ChangedField {
  readonly name: string;
  /** undefined: the proposal does not say what it is now. */
  readonly before: FieldValue | undefined;
  readonly after: FieldValue;
}

export interface ProposalFields {
  readonly changed: readonly ChangedField[];
  /** What else the proposal is based on. It stays as it is, except for what the action itself makes anew. */
  readonly others: readonly Field[];
}

/** Fields of changes that have another name in the state which they change. */
const STATE_NAMES: ReadonlyMap<string, string> = new Map([
  ['limits.check-status', 'limits.check_status_per_minute'],
  ['limits.check-account', 'limits.check_account_per_minute'],
  ['limits.accounts-per-day', 'limits.accounts_per_day'],
  ['options.partnerId', 'snap.partner_id'],
  ['options.externalIds', 'snap.external_ids'],
  ['options.bodyHash', 'snap.body_hash'],
  ['options.clockSkewSeconds', 'snap.clock_skew_seconds'],
  ['url.origin', 'origin'],
  ['url.sha256', 'url_sha256'],
]);

/** The range of a replay is an object of its own. */
const RANGE = /^events\./;

/** The client and the proposer are shown beside the fields. The rest says nothing to people. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'client_id',
  'clientId',
  'createdBy',
  'events.by',
  'idempotencyKey',
  // Encrypted. The origin and the hash of the URL are fields.
  'url.sealed',
]);

/** The fields of a proposal, whose `payload` and `before` are JSON; null where they are not. */
export function readProposalFields(payload: string, before: string | null): ProposalFields | null {
  try {
    const { change } = JSON.parse(payload) as { readonly change: object };
    const state = before === null ? [] : fieldsOf('', JSON.parse(before));
    const known = new Map(state.map(({ name, value }) => [name, value]));
    const changed = Object.entries(change)
      // In a change, null stands for what stays as it is. In a limit below it, null is the default.
      .flatMap(([name, value]) => (value === null ? [] : fieldsOf(name, value)))
      .filter(({ name }) => !LEFT_OUT.has(name))
      .map(({ name: given, value: after }) => {
        const name = STATE_NAMES.get(given) ?? given.replace(RANGE, '');
        return { name, before: known.get(name), after };
      });
    const names = new Set(changed.map(({ name }) => name));
    return { changed, others: state.filter(({ name }) => !names.has(name)) };
  } catch {
    return null;
  }
}

/** A list of texts is one value. Objects in a list are numbered from 1. */
function fieldsOf(name: string, value: unknown): readonly Field[] {
  const below = (key: string | number, each: unknown): readonly Field[] =>
    fieldsOf(name === '' ? String(key) : `${name}.${key}`, each);
  if (typeof value !== 'object' || value === null) return [{ name, value: value as FieldValue }];
  if (!Array.isArray(value)) return Object.entries(value).flatMap(([key, each]) => below(key, each));
  if (value.some((each) => typeof each === 'object')) return value.flatMap((each, index) => below(index + 1, each));
  return [{ name, value: value.join(' ') }];
}
