import { useEffect } from 'preact/hooks';
import { call, queryText } from '../api/request.ts';
import { type Resource, useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { type Column, Pager, Table } from '../components/table.tsx';
import {
  amountColumn,
  bankColumn,
  clientColumn,
  createdColumn,
  transactionColumn,
} from '../components/transaction-columns.tsx';
import { Status } from '../components/values.tsx';
import { calendarDay, money } from '../format.ts';
import type { FoundBy, OperatorTransaction, TransactionSearchResult } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address, navigate, place } from '../router.ts';
import { type Hint, hintsFor } from '../search-hints.ts';
import { plainAmount, SEARCH_FIELDS } from '../search-text.ts';
import { TEXTS } from '../texts.ts';
import { AccountChecks } from './account-checks.tsx';

const LEAD: Text = {
  en: 'All clients, the newest first. Paste what a customer sent, or combine: account number, amount, day.',
  id: 'Semua klien, yang terbaru lebih dulu. Tempel kiriman nasabah, atau gabungkan: rekening, nominal, hari.',
};
const NOTHING: Text = { en: 'Nothing was found.', id: 'Tidak ditemukan.' };
const HINTS = {
  whole: {
    en: 'IDs, references and account numbers are searched whole: check each character.',
    id: 'ID, referensi dan nomor rekening dicari lengkap: periksa setiap karakter.',
  },
  amount: {
    en: 'An amount is searched in the last 7 days: add a day, such as 21/11.',
    id: 'Nominal dicari dalam 7 hari terakhir: tambahkan hari, misalnya 21/11.',
  },
  filters: {
    en: 'All of this must be true of it: check each digit, or leave one out.',
    id: 'Semuanya harus cocok: periksa setiap angka, atau hilangkan salah satu.',
  },
  unread: {
    en: '“{word}” was not understood, so the text was searched as one. Use this form: 1234567890 150.000 yesterday.',
    id: '“{word}” tidak dimengerti, jadi teks dicari sebagai satu. Gunakan bentuk ini: 1234567890 150.000 kemarin.',
  },
  names: { en: 'Names are not searched.', id: 'Nama tidak dicari.' },
} as const satisfies Record<Hint, Text>;
const NOT_PAID: Text = {
  en: 'The client paid nothing to this account in the hour after the check.',
  id: 'Klien tidak mengirim apa pun ke rekening ini dalam satu jam setelah pengecekan.',
};
const UNDERSTOOD: Text = { en: 'Understood as', id: 'Dibaca sebagai' };
const WHOLE: Text = { en: 'Search the text as one', id: 'Cari sebagai satu teks' };
const FOUND_AS: Text = { en: 'Found as', id: 'Ditemukan sebagai' };
const ALSO: Text = { en: 'The text may also be', id: 'Teks ini bisa juga' };

const FIELD_TEXTS: Readonly<Partial<Record<string, Text>>> = {
  q: { en: 'Text', id: 'Teks' },
  account_number: TEXTS.account,
  amount: TEXTS.amount,
  day: { en: 'Day (Jakarta)', id: 'Hari (WIB)' },
  status: TEXTS.status,
  overdue: TEXTS.overdue,
  client_id: TEXTS.client,
  bank_code: TEXTS.bank,
};

const FOUND_BY = {
  identifier: { en: 'an identifier', id: 'sebuah ID' },
  account_number: { en: 'an account number', id: 'nomor rekening' },
  amount: { en: 'an amount', id: 'nominal' },
  request_id: { en: 'the request ID of a check', id: 'ID permintaan cek rekening' },
  filters: { en: 'filters', id: 'filter' },
} as const satisfies Record<string, Text>;

/** The parameters of the address that the API knows, which checks their values; the others are for the page. */
function searchQuery(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...SEARCH_FIELDS, 'cursor'].flatMap((name) => {
      const value = query.get(name);
      return value === null || value === '' ? [] : [[name, value]];
    }),
  );
}

const PAGE_SIZE = 50;
const PLAIN_AMOUNT = /^\d+(?:\.\d+)?$/;

export function SearchPage() {
  const { query } = place.value;
  const parameters = searchQuery(query);
  const found = useResource(`search ${queryText(parameters)}`, (signal) =>
    call('searchTransactions', { query: { ...parameters, limit: PAGE_SIZE } }, signal),
  );
  useOnlyHit(found, parameters);
  return (
    <Page title={say(TEXTS.transactions)} lead={say(LEAD)}>
      <Filters parameters={parameters} text={query.get('text')} />
      <Loaded resource={found}>{(data) => <Results data={data} parameters={parameters} />}</Loaded>
    </Page>
  );
}

/**
 * A search that finds one transaction opens it, unless the text may be something else as well: that could be the
 * transaction of another customer. Going back leads to where the search began.
 */
function useOnlyHit({ data, loading }: Resource<TransactionSearchResult>, parameters: Record<string, string>): void {
  const [only, other] = data?.transactions ?? [];
  const isAll = data?.next_cursor === null && data.also_found_by.length === 0;
  const isOnly = !loading && only !== undefined && other === undefined && isAll;
  const isPrecise =
    ['cursor', 'stay'].every((name) => parameters[name] === undefined) && Object.keys(parameters).length > 0;
  const href =
    isOnly && isPrecise ? address(['transactions', only.transaction_id], { client_id: only.client_id }) : null;
  useEffect(() => {
    if (href !== null && data?.account_checks.length === 0) navigate(href, { replace: true });
  }, [href]);
}

/** How the text was read, so that a wrong reading can be seen and taken back. */
function Filters({ parameters, text }: { readonly parameters: Record<string, string>; readonly text: string | null }) {
  const filters = Object.entries(parameters).filter(([name]) => FIELD_TEXTS[name] !== undefined);
  if (filters.every(([name]) => name === 'q')) return null;
  return (
    <p class="filters">
      <span class="muted">{say(UNDERSTOOD)}</span>
      {filters.map(([name, value]) => (
        <span class="filter" key={name}>
          <span class="muted">{say(FIELD_TEXTS[name] ?? TEXTS.search)}</span> {filterText(name, value)}
        </span>
      ))}
      {text !== null && <a href={address(['transactions'], { q: text })}>{say(WHOLE)}</a>}
    </p>
  );
}

function filterText(name: string, value: string): string {
  if (name === 'day') return calendarDay(value, language.value, new Date());
  return name === 'amount' && PLAIN_AMOUNT.test(value) ? money(value, 'IDR', language.value) : value;
}

/** The parameter that searches a text in that way only. */
const PARAMETER_OF: Readonly<Partial<Record<FoundBy, (text: string) => Record<string, string>>>> = {
  account_number: (text) => ({ account_number: text.replaceAll(/[\s.-]/g, '') }),
  amount: (text) => ({ amount: plainAmount(text) }),
  request_id: (text) => ({ request_id: text }),
};

/** What else the text may be: each is a search of its own. */
function Others({
  data: { found_by: foundBy, also_found_by: others },
  parameters,
}: {
  readonly data: TransactionSearchResult;
  readonly parameters: Record<string, string>;
}) {
  const { q = '', ...filters } = parameters;
  if (foundBy === null || others.length === 0) return null;
  return (
    <p>
      {say(FOUND_AS)} {say(FOUND_BY[foundBy])}. {say(ALSO)}{' '}
      {others.map((each, index) => (
        <span key={each}>
          {index > 0 && ', '}
          <a href={address(['transactions'], { ...filters, ...PARAMETER_OF[each]?.(q) })}>{say(FOUND_BY[each])}</a>
        </span>
      ))}
      .
    </p>
  );
}

const COLUMNS = (): readonly Column<OperatorTransaction>[] => [
  transactionColumn(),
  {
    title: say(TEXTS.status),
    cell: (each) => <Status status={each.status} overdueSince={each.overdue_since} reversedAt={each.reversed_at} />,
  },
  amountColumn(),
  bankColumn(),
  clientColumn(),
  createdColumn(),
];

function Results({
  data,
  parameters,
}: {
  readonly data: TransactionSearchResult;
  readonly parameters: Record<string, string>;
}) {
  const { cursor, ...first } = parameters;
  const next = data.next_cursor;
  const hasChecks = data.account_checks.length > 0;
  return (
    <>
      <Others data={data} parameters={first} />
      {hasChecks && <AccountChecks checks={data.account_checks} />}
      <Table
        caption={say(TEXTS.transactions)}
        columns={COLUMNS()}
        rows={data.transactions}
        keyOf={(each) => `${each.client_id} ${each.transaction_id}`}
        empty={data.has_more ? say(TEXTS.more) : hasChecks ? say(NOT_PAID) : nothingText(first)}
      />
      <Pager
        next={next === null ? null : address(['transactions'], { ...first, cursor: next })}
        first={cursor === undefined ? null : address(['transactions'], first)}
      />
    </>
  );
}

function nothingText(parameters: Record<string, string>): string {
  const { hints, word } = hintsFor(parameters, new Date());
  return [say(NOTHING), ...hints.map((hint) => say(HINTS[hint], { word }))].join(' ');
}
