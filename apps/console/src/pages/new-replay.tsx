import { useState } from 'preact/hooks';
import { CallFailure, call, given, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Select } from '../components/choices.tsx';
import { Failure } from '../components/failure.tsx';
import { integer } from '../format.ts';
import type { CallbackReplayOrder, ReplayCount } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

/** A replay is counted first, and what was counted is what is started. */

const TITLE: Text = { en: 'New replay', id: 'Kirim ulang baru' };
const FROM: Text = { en: 'From', id: 'Dari' };
const TO: Text = { en: 'Until', id: 'Sampai' };
const ONLY: Text = { en: 'Only', id: 'Hanya' };
const COUNT: Text = { en: 'Count', id: 'Hitung' };
const COUNTED: Text = {
  en: 'Callbacks to send: {deliveries}. Events: {events}, transactions: {transactions}, endpoints: {endpoints}.',
  id: 'Callback yang dikirim: {deliveries}. Peristiwa: {events}, transaksi: {transactions}, endpoint: {endpoints}.',
};
const ELSE: Text = { en: 'With another choice: {counts}.', id: 'Dengan pilihan lain: {counts}.' };
const THERE_ARE_MORE: Text = {
  en: 'There are more: counting has stopped.',
  id: 'Masih ada lagi: penghitungan dihentikan.',
};
const START: Text = { en: 'Start the replay', id: 'Mulai kirim ulang' };
const START_TEXT: Text = {
  en: 'The client gets these callbacks again, and must be ready to take them twice. It can be stopped.',
  id: 'Klien menerima callback ini lagi, dan harus siap menerima dua kali. Bisa dihentikan.',
};
const STARTED: Text = { en: 'Started.', id: 'Sudah dimulai.' };

const SELECTED = ['all', 'exhausted', 'missing', 'delivered', 'pending'] as const;
type Selected = (typeof SELECTED)[number];
const SELECTED_TEXTS = {
  all: TEXTS.all,
  exhausted: { en: 'given up', id: 'yang percobaannya habis' },
  missing: { en: 'never sent', id: 'yang tidak pernah dikirim' },
  delivered: { en: 'delivered', id: 'yang terkirim' },
  pending: { en: 'being retried', id: 'yang sedang dicoba' },
} as const satisfies Record<Selected, Text>;

interface Counted {
  readonly order: CallbackReplayOrder;
  readonly count: ReplayCount;
  /** What the other states would send. */
  readonly others: readonly { readonly state: Selected; readonly count: ReplayCount | null }[];
  /** The same order with the same key is the same replay: a repeated click starts no second one. */
  readonly key: string;
}

/** How many clients are suggested: those that have what is typed in their ID or their name. */
const SUGGESTED_MAX = 20;
const MINUTE_MS = 60 * 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
const KEY_BYTES = 16;

/** In the form of a field for local times, to the minute. */
function localText(time: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0');
  const day = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
  return `${day}T${pad(time.getHours())}:${pad(time.getMinutes())}`;
}

/** Not `randomUUID`, which a page without TLS lacks. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** What is in the fields. */
interface Fields {
  readonly clientId: string;
  readonly from: string;
  readonly to: string;
  readonly selected: Selected;
}

const orderOf = ({ clientId, from, to, selected }: Fields): CallbackReplayOrder => ({
  client_id: clientId,
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  ...(selected === 'all' ? {} : { state: selected }),
});

export function NewReplay({
  clientId,
  onStarted,
}: {
  readonly clientId: string | null;
  readonly onStarted: () => void;
}) {
  const [fields, setFields] = useState<Fields>(() => ({
    clientId: clientId ?? '',
    from: localText(new Date(Date.now() - DAY_MS)),
    // The field has no seconds: what happened in this minute is meant too.
    to: localText(new Date(Date.now() + MINUTE_MS)),
    selected: 'exhausted',
  }));
  const [counted, setCounted] = useState<Counted | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);

  async function count(): Promise<void> {
    setFailure(null);
    const key = newKey();
    const countOf = async (selected: Selected): Promise<ReplayCount | null> =>
      (await call('createCallbackReplay', { body: { ...orderOf({ ...fields, selected }), dry_run: true } })).count;
    try {
      const chosen = await countOf(fields.selected);
      if (chosen === null) return;
      setCounted({ order: orderOf(fields), count: chosen, others: [], key });
      for (const state of SELECTED.filter((each) => each !== fields.selected && each !== 'all')) {
        const other = { state, count: await countOf(state) };
        // Unless the fields have changed meanwhile.
        setCounted((now) => (now?.key === key ? { ...now, others: [...now.others, other] } : now));
      }
    } catch (error) {
      setFailure(error instanceof CallFailure ? error : new CallFailure(String(error), {}));
    }
  }

  return (
    <section>
      <h2>{say(TITLE)}</h2>
      <OrderForm
        fields={fields}
        onChange={(changes) => {
          setFields({ ...fields, ...changes });
          // What was counted is not what is in the fields any more.
          setCounted(null);
        }}
        onSubmit={() => void count()}
      />
      {failure !== null && <Failure failure={failure} />}
      <output>
        {counted !== null && (
          <>
            <p>{countText(counted.count)}</p>
            {counted.others.length > 0 && <p class="muted">{othersText(counted)}</p>}
          </>
        )}
      </output>
      {counted !== null && counted.count.deliveries > 0 && <Start counted={counted} onStarted={onStarted} />}
    </section>
  );
}

function OrderForm({
  fields,
  onChange,
  onSubmit,
}: {
  readonly fields: Fields;
  readonly onChange: (changes: Partial<Fields>) => void;
  readonly onSubmit: () => void;
}) {
  const { clientId: typed } = fields;
  const clients = useResource(`clients ${typed}`, (signal) =>
    call('listClients', { query: given({ q: typed === '' ? null : typed, limit: SUGGESTED_MAX }) }, signal),
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form class="filter-form" onSubmit={submit}>
      <label>
        {say(TEXTS.client)}
        <input
          required
          list="clients"
          value={fields.clientId}
          onInput={(event) => onChange({ clientId: event.currentTarget.value })}
        />
      </label>
      <datalist id="clients">
        {clients.data?.clients.map((each) => (
          <option key={each.client_id} value={each.client_id}>
            {each.name}
          </option>
        ))}
      </datalist>
      <LocalTime title={say(FROM)} value={fields.from} onChange={(from) => onChange({ from })} />
      <LocalTime title={say(TO)} value={fields.to} onChange={(to) => onChange({ to })} />
      <Select
        title={say(ONLY)}
        values={SELECTED}
        chosen={fields.selected}
        onChange={(selected) => onChange({ selected })}
        textOf={(each) => say(SELECTED_TEXTS[each])}
      />
      <button type="submit">{say(COUNT)}</button>
    </form>
  );
}

function Start({
  counted: { order, count, key },
  onStarted,
}: {
  readonly counted: Counted;
  readonly onStarted: () => void;
}) {
  return (
    <p class="actions">
      <Action
        key={key}
        title={say(START)}
        description={`${countText(count)} ${say(START_TEXT)}`}
        onDone={onStarted}
        run={async (reason) => {
          const headers = { 'idempotency-key': key };
          const answer = await propose('createCallbackReplay', { body: { ...order, reason } }, headers);
          return outcomeOf(answer, () => say(STARTED));
        }}
      />
    </p>
  );
}

function LocalTime({
  title,
  value,
  onChange,
}: {
  readonly title: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <label>
      {title}
      <input type="datetime-local" required value={value} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

function countText({ is_complete: isComplete, ...counts }: ReplayCount): string {
  const values = Object.fromEntries(
    Object.entries(counts).map(([name, value]) => [name, integer(value, language.value)]),
  );
  return isComplete ? say(COUNTED, values) : `${say(COUNTED, values)} ${say(THERE_ARE_MORE)}`;
}

/** `With another choice: never sent 9, delivered > 1,000.` */
function othersText({ others }: Counted): string {
  const counts = others.map(({ state, count }) => {
    const deliveries = integer(count?.deliveries ?? 0, language.value);
    return `${say(SELECTED_TEXTS[state])} ${count?.is_complete === false ? '> ' : ''}${deliveries}`;
  });
  return say(ELSE, { counts: counts.join(', ') });
}
