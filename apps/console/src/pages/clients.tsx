import { call, given, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Choices } from '../components/choices.tsx';
import { useEntered } from '../components/entered.ts';
import { Loaded, Page } from '../components/page.tsx';
import { showSecret } from '../components/secret.tsx';
import { type Column, Pager, Table } from '../components/table.tsx';
import { TextFilter } from '../components/text-filter.tsx';
import { Chip } from '../components/values.tsx';
import { integer } from '../format.ts';
import type { ClientLimits, OperatorClient, Scope } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'Who may call the API, and how often. The defaults are settings of the installation.',
  id: 'Siapa yang boleh memanggil API, dan seberapa sering. Nilai bawaan adalah setelan instalasi.',
};
const NONE: Text = { en: 'There are no clients.', id: 'Belum ada klien.' };
const NONE_FOUND: Text = {
  en: 'No client has this text in its ID or its name.',
  id: 'Tidak ada klien dengan teks ini dalam ID atau namanya.',
};
const FILTER_TEXTS = { q: { en: 'Part of the ID or name', id: 'Bagian dari ID atau nama' } } as const;
const ENABLED: Text = { en: 'Enabled', id: 'Aktif' };
const DISABLED: Text = { en: 'Disabled', id: 'Nonaktif' };
const TRUSTED: Text = { en: 'Trusted', id: 'Tepercaya' };
export const SCOPES_TITLE: Text = { en: 'Scopes', id: 'Scope' };

export const LIMITS = {
  check_status_per_minute: { en: 'Status checks / min', id: 'Cek status / mnt' },
  check_account_per_minute: { en: 'Account checks / min', id: 'Cek rekening / mnt' },
  accounts_per_day: { en: 'Accounts / day', id: 'Rekening / hari' },
} as const satisfies Record<keyof ClientLimits, Text>;
export const LIMIT_NAMES = Object.keys(LIMITS) as (keyof ClientLimits)[];

const DEFAULT: Text = { en: 'default', id: 'bawaan' };

export const limitText = (limit: number | null): string =>
  limit === null ? say(DEFAULT) : integer(limit, language.value);

export function ClientState({ client }: { readonly client: OperatorClient }) {
  return (
    <span class="chips">
      <Chip tone={client.disabled ? 'bad' : 'good'} text={say(client.disabled ? DISABLED : ENABLED)} />
      {client.trusted && <Chip tone="busy" text={say(TRUSTED)} />}
    </span>
  );
}

const PAGE_SIZE = 50;

export function ClientsPage() {
  const { query } = place.value;
  const q = query.get('q');
  const cursor = query.get('cursor');
  const read = useResource(`clients ${query}`, (signal) =>
    call('listClients', { query: given({ q, cursor, limit: PAGE_SIZE }) }, signal),
  );
  const columns: readonly Column<OperatorClient>[] = [
    {
      title: say(TEXTS.client),
      cell: (each) => (
        <>
          <a href={address(['clients', each.client_id])}>{each.client_id}</a>
          <span class="below">{each.name}</span>
        </>
      ),
    },
    { title: say(TEXTS.state), cell: (each) => <ClientState client={each} /> },
    ...LIMIT_NAMES.map((name) => ({
      title: say(LIMITS[name]),
      isNumber: true,
      cell: (each: OperatorClient) => limitText(each.limits[name]),
    })),
    { title: say(SCOPES_TITLE), cell: (each) => <span class="small">{each.scopes.join(' ')}</span> },
  ];
  return (
    <Page title={say(TEXTS.clients)} lead={say(LEAD)}>
      {may('changeClient') && <NewClient onCreated={read.reload} />}
      <TextFilter path={['clients']} titles={FILTER_TEXTS} values={{ q }} />
      <Loaded resource={read}>
        {({ clients, next_cursor: next }) => (
          <>
            <Table
              caption={say(TEXTS.clients)}
              columns={columns}
              rows={clients}
              keyOf={(each) => each.client_id}
              empty={say(q === null ? NONE : NONE_FOUND)}
            />
            <Pager
              next={next === null ? null : address(['clients'], { q, cursor: next })}
              first={cursor === null ? null : address(['clients'], { q })}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** As the service has them. */
export const SCOPES = [
  'status:read',
  'transactions:read',
  'account:check',
  'events:read',
  'callbacks:manage',
  'feed:write',
  'operator:read',
  'operator:write',
  'operator:unmask',
  'audit:read',
] as const satisfies readonly Scope[];
const SCOPES_OF_CLIENTS: readonly Scope[] = SCOPES.slice(0, SCOPES.indexOf('feed:write'));
/** No role may send a feed, so no person gives this scope (docs/operating.md, "Clients over the API"). */
export const isGiven = (scope: string): boolean => scope !== 'feed:write';

const CREATE: Text = { en: 'New client', id: 'Klien baru' };
const CREATE_TEXT: Text = {
  en: 'It can log in at once, with a secret that is shown when it is created.',
  id: 'Klien langsung bisa masuk, dengan secret yang ditampilkan saat dibuat.',
};
const CREATED: Text = { en: 'Created.', id: 'Sudah dibuat.' };
const NAME: Text = { en: 'Name', id: 'Nama' };

function NewClient({ onCreated }: { readonly onCreated: () => void }) {
  const { fields, enter, clear } = useEntered({ client_id: '', name: '', scopes: SCOPES_OF_CLIENTS });
  return (
    <p class="actions">
      <Action
        title={say(CREATE)}
        description={say(CREATE_TEXT)}
        onOpen={clear}
        onDone={onCreated}
        run={async (reason) => {
          const { name, ...order } = fields;
          const body = { ...order, ...(name === '' ? {} : { name }), reason };
          return outcomeOf(await propose('createClient', { body }), ({ client_secret: secret }) => {
            showSecret(secret);
            return say(CREATED);
          });
        }}
      >
        <label>
          client_id
          <input
            required
            pattern="[A-Za-z0-9._\-]{1,64}"
            maxLength={64}
            placeholder="shop-one"
            value={fields.client_id}
            onInput={(event) => enter({ client_id: event.currentTarget.value })}
          />
        </label>
        <label>
          {say(NAME)}
          <input
            maxLength={128}
            placeholder="Shop One"
            value={fields.name}
            onInput={(event) => enter({ name: event.currentTarget.value })}
          />
        </label>
        <Choices
          title={say(SCOPES_TITLE)}
          values={SCOPES.filter(isGiven)}
          chosen={fields.scopes}
          onChange={(scopes) => enter({ scopes })}
        />
      </Action>
    </p>
  );
}
