import { useState } from 'preact/hooks';
import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Chip } from '../components/values.tsx';
import { integer } from '../format.ts';
import type { ClientLimits, OperatorClient } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'Who may call the API, and how often. A dash stands for the default of the installation.',
  id: 'Siapa yang boleh memanggil API, dan seberapa sering. Tanda – berarti nilai bawaan.',
};
const NONE: Text = { en: 'There are no clients.', id: 'Belum ada klien.' };
const NOT_THERE: Text = { en: 'No client has this ID.', id: 'Tidak ada klien dengan ID ini.' };
const ENABLED: Text = { en: 'Enabled', id: 'Aktif' };
const DISABLED: Text = { en: 'Disabled', id: 'Nonaktif' };
const TRUSTED: Text = { en: 'Trusted', id: 'Tepercaya' };
const SCOPES: Text = { en: 'Scopes', id: 'Scope' };

const LIMITS = {
  check_status_per_minute: { en: 'Status checks / min', id: 'Cek status / mnt' },
  check_account_per_minute: { en: 'Account checks / min', id: 'Cek rekening / mnt' },
  accounts_per_day: { en: 'Accounts / day', id: 'Rekening / hari' },
} as const satisfies Record<keyof ClientLimits, Text>;
const LIMIT_NAMES = Object.keys(LIMITS) as (keyof ClientLimits)[];

const limitText = (limit: number | null): string => (limit === null ? '–' : integer(limit, language.value));

function State({ client }: { readonly client: OperatorClient }) {
  return (
    <span class="chips">
      <Chip tone={client.disabled ? 'bad' : 'good'} text={say(client.disabled ? DISABLED : ENABLED)} />
      {client.trusted && <Chip tone="busy" text={say(TRUSTED)} />}
    </span>
  );
}

export function ClientsPage() {
  const read = useResource('clients', (signal) => call('listClients', {}, signal));
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
    { title: say(TEXTS.state), cell: (each) => <State client={each} /> },
    ...LIMIT_NAMES.map((name) => ({
      title: say(LIMITS[name]),
      isNumber: true,
      cell: (each: OperatorClient) => limitText(each.limits[name]),
    })),
    { title: say(SCOPES), cell: (each) => <span class="small">{each.scopes.join(' ')}</span> },
  ];
  return (
    <Page title={say(TEXTS.clients)} lead={say(LEAD)}>
      <Loaded resource={read}>
        {({ clients }) => (
          <Table
            caption={say(TEXTS.clients)}
            columns={columns}
            rows={clients}
            keyOf={(each) => each.client_id}
            empty={say(NONE)}
          />
        )}
      </Loaded>
    </Page>
  );
}

const CHANGE: Text = { en: 'Change limits', id: 'Ubah batas' };
const CHANGE_TEXT: Text = {
  en: 'They take effect in all processes within a second. An empty field means the default.',
  id: 'Berlaku di semua proses dalam satu detik. Kosong berarti nilai bawaan.',
};
const CHANGED: Text = { en: 'Changed.', id: 'Sudah diubah.' };
const TRUST: Text = { en: 'Trust', id: 'Percayai' };
const DISTRUST: Text = { en: 'Stop trusting', id: 'Cabut kepercayaan' };
const TRUST_TEXT: Text = {
  en: 'A trusted client is exempt from the enumeration guard, except for its accounts per day.',
  id: 'Klien tepercaya dikecualikan dari penjaga enumerasi, kecuali batas rekening per hari.',
};
const DISABLE: Text = { en: 'Disable', id: 'Nonaktifkan' };
const ENABLE: Text = { en: 'Enable', id: 'Aktifkan' };
const DISABLE_TEXT: Text = {
  en: 'All of its requests are refused at once, also those with a valid token.',
  id: 'Semua permintaannya langsung ditolak, juga dengan token yang masih berlaku.',
};
const ENABLE_TEXT: Text = { en: 'Its requests are answered again.', id: 'Permintaannya dijawab lagi.' };
const ITS_TRANSACTIONS: Text = { en: 'Its transactions', id: 'Transaksinya' };
const ITS_CALLBACKS: Text = { en: 'Its undelivered callbacks', id: 'Callback yang belum terkirim' };

export function ClientPage({ id }: { readonly id: string }) {
  const read = useResource('clients', (signal) => call('listClients', {}, signal));
  return (
    <Page title={id}>
      <Loaded resource={read}>
        {({ clients }) => {
          const client = clients.find((each) => each.client_id === id);
          if (client === undefined) return <p class="empty">{say(NOT_THERE)}</p>;
          return <Client client={client} onChanged={read.reload} />;
        }}
      </Loaded>
    </Page>
  );
}

function Client({ client, onChanged }: { readonly client: OperatorClient; readonly onChanged: () => void }) {
  return (
    <>
      <p>
        {client.name} <State client={client} />
      </p>
      <p class="actions">
        <a class="button" href={address(['transactions'], { client_id: client.client_id })}>
          {say(ITS_TRANSACTIONS)}
        </a>
        <a class="button" href={address(['callbacks'], { client_id: client.client_id })}>
          {say(ITS_CALLBACKS)}
        </a>
      </p>
      <dl class="facts">
        {LIMIT_NAMES.map((name) => (
          <div key={name}>
            <dt>{say(LIMITS[name])}</dt>
            <dd class="number">{limitText(client.limits[name])}</dd>
          </div>
        ))}
        <div>
          <dt>{say(SCOPES)}</dt>
          <dd>{client.scopes.join(' ')}</dd>
        </div>
      </dl>
      {may('changeClient') && <Changes client={client} onChanged={onChanged} />}
    </>
  );
}

function Changes({ client, onChanged }: { readonly client: OperatorClient; readonly onChanged: () => void }) {
  const [limits, setLimits] = useState<ClientLimits>(client.limits);
  const path = { client_id: client.client_id };
  return (
    <div class="actions">
      <Action
        title={say(CHANGE)}
        description={say(CHANGE_TEXT)}
        onDone={onChanged}
        run={async (reason) => {
          const answer = await propose('changeClient', { path, body: { limits, reason } });
          return 'proposal' in answer ? answer.proposal : say(CHANGED);
        }}
      >
        {LIMIT_NAMES.map((name) => (
          <label key={name}>
            {say(LIMITS[name])}
            <input
              type="number"
              min="0"
              max="999999999"
              value={limits[name] ?? ''}
              onInput={({ currentTarget: { value } }) =>
                setLimits((before) => ({ ...before, [name]: value === '' ? null : Number(value) }))
              }
            />
          </label>
        ))}
      </Action>
      <Action
        title={say(client.trusted ? DISTRUST : TRUST)}
        description={say(TRUST_TEXT)}
        onDone={onChanged}
        run={async (reason) => {
          const answer = await propose('changeClient', { path, body: { trusted: !client.trusted, reason } });
          return 'proposal' in answer ? answer.proposal : say(CHANGED);
        }}
      />
      <Action
        title={say(client.disabled ? ENABLE : DISABLE)}
        description={say(client.disabled ? ENABLE_TEXT : DISABLE_TEXT)}
        onDone={onChanged}
        run={async (reason) => {
          const answer = await propose('changeClient', { path, body: { disabled: !client.disabled, reason } });
          return 'proposal' in answer ? answer.proposal : say(CHANGED);
        }}
      />
    </div>
  );
}
