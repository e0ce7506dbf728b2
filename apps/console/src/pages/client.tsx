import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Choices } from '../components/choices.tsx';
import { useEntered } from '../components/entered.ts';
import { Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import type { ChangeClientRequest, OperatorClient, Scope } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { ClientEndpoints } from './client-endpoints.tsx';
import { ClientSecrets } from './client-secrets.tsx';
import { ClientSnap } from './client-snap.tsx';
import { ClientState, isGiven, LIMIT_NAMES, LIMITS, limitText, SCOPES, SCOPES_TITLE } from './clients.tsx';

const CHANGE_LIMITS: Text = { en: 'Change limits', id: 'Ubah batas' };
const LIMITS_TEXT: Text = {
  en: 'They take effect in all processes within a second. An empty field means the default.',
  id: 'Berlaku di semua proses dalam satu detik. Kosong berarti nilai bawaan.',
};
const CHANGE_SCOPES: Text = { en: 'Change scopes', id: 'Ubah scope' };
const SCOPES_TEXT: Text = {
  en: 'A scope that is taken away ends at once, also in tokens that have it. A new one is in the next token.',
  id: 'Scope yang dicabut langsung berakhir, juga pada token yang memilikinya. Yang baru ada di token berikutnya.',
};
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
const REVOKE: Text = { en: 'Revoke tokens', id: 'Cabut token' };
const REVOKE_TEXT: Text = {
  en: 'The access tokens that it has now are refused at once. It can log in again with its secret.',
  id: 'Token akses yang dimilikinya langsung ditolak. Klien bisa masuk lagi dengan secret-nya.',
};
const REVOKED: Text = { en: 'Revoked.', id: 'Sudah dicabut.' };
const ITS_TRANSACTIONS: Text = { en: 'Its transactions', id: 'Transaksinya' };
const ITS_CALLBACKS: Text = { en: 'Its undelivered callbacks', id: 'Callback yang belum terkirim' };
const ITS_REPLAYS: Text = { en: 'Send callbacks again', id: 'Kirim ulang callback' };
const ITS_RECORDS: Text = { en: 'What was changed', id: 'Yang pernah diubah' };

export function ClientPage({ id }: { readonly id: string }) {
  const path = { client_id: id };
  const read = useResource(`client ${id}`, (signal) => call('readClient', { path }, signal));
  return (
    <Page title={id}>
      <Loaded resource={read}>{(client) => <Client client={client} onChanged={read.reload} />}</Loaded>
    </Page>
  );
}

function Client({ client, onChanged }: { readonly client: OperatorClient; readonly onChanged: () => void }) {
  const { client_id: id } = client;
  return (
    <>
      <p>
        {client.name} <ClientState client={client} />
      </p>
      <p class="actions">
        <a class="button" href={address(['transactions'], { client_id: id })}>
          {say(ITS_TRANSACTIONS)}
        </a>
        <a class="button" href={address(['callbacks'], { client_id: id })}>
          {say(ITS_CALLBACKS)}
        </a>
        <a class="button" href={address(['replays'], { client_id: id })}>
          {say(ITS_REPLAYS)}
        </a>
        {may('readAudit') && (
          <a class="button" href={address(['audit'], { client_id: id })}>
            {say(ITS_RECORDS)}
          </a>
        )}
      </p>
      <Facts
        facts={[
          ...LIMIT_NAMES.map((name) => [LIMITS[name], limitText(client.limits[name])] as const),
          [SCOPES_TITLE, client.scopes.join(' ')],
        ]}
      />
      {may('changeClient') && <Changes client={client} onChanged={onChanged} />}
      <ClientEndpoints clientId={id} />
      <ClientSecrets client={client} />
      <ClientSnap clientId={id} />
    </>
  );
}

interface ChangesProps {
  readonly client: OperatorClient;
  readonly onChanged: () => void;
}

const changeClient = async ({ client_id }: OperatorClient, body: ChangeClientRequest) =>
  outcomeOf(await propose('changeClient', { path: { client_id }, body }), () => say(TEXTS.changed));

function Changes({ client, onChanged }: ChangesProps) {
  const path = { client_id: client.client_id };
  return (
    <div class="actions">
      <ChangeLimits client={client} onChanged={onChanged} />
      <ChangeScopes client={client} onChanged={onChanged} />
      <Action
        title={say(client.trusted ? DISTRUST : TRUST)}
        description={say(TRUST_TEXT)}
        onDone={onChanged}
        run={(reason) => changeClient(client, { trusted: !client.trusted, reason })}
      />
      <Action
        title={say(client.disabled ? ENABLE : DISABLE)}
        description={say(client.disabled ? ENABLE_TEXT : DISABLE_TEXT)}
        onDone={onChanged}
        run={(reason) => changeClient(client, { disabled: !client.disabled, reason })}
      />
      <Action
        title={say(REVOKE)}
        description={say(REVOKE_TEXT)}
        run={async (reason) => {
          await call('revokeClientTokens', { path, body: { reason } });
          return say(REVOKED);
        }}
      />
    </div>
  );
}

function ChangeLimits({ client, onChanged }: ChangesProps) {
  const { fields, changes, isChanged, enter, clear } = useEntered(client.limits);
  return (
    <Action
      title={say(CHANGE_LIMITS)}
      description={say(LIMITS_TEXT)}
      // Another person may have changed them since they were read.
      onOpen={() => (clear(), onChanged())}
      onDone={onChanged}
      run={async (reason) =>
        isChanged ? await changeClient(client, { limits: changes, reason }) : say(TEXTS.unchanged)
      }
    >
      {LIMIT_NAMES.map((name) => (
        <label key={name}>
          {say(LIMITS[name])}
          <input
            type="number"
            min="0"
            max="999999999"
            value={fields[name] ?? ''}
            onInput={({ currentTarget: { value } }) => enter({ [name]: value === '' ? null : Number(value) })}
          />
        </label>
      ))}
    </Action>
  );
}

function ChangeScopes({ client, onChanged }: ChangesProps) {
  const known: readonly Scope[] = SCOPES.filter((each) => client.scopes.includes(each));
  const { fields, changes, isChanged, enter, clear } = useEntered({ scopes: known });
  return (
    <Action
      title={say(CHANGE_SCOPES)}
      description={say(SCOPES_TEXT)}
      onOpen={() => (clear(), onChanged())}
      onDone={onChanged}
      run={async (reason) => (isChanged ? await changeClient(client, { ...changes, reason }) : say(TEXTS.unchanged))}
    >
      <Choices
        title={say(SCOPES_TITLE)}
        values={SCOPES.filter((each) => isGiven(each) || client.scopes.includes(each))}
        chosen={fields.scopes}
        onChange={(scopes) => enter({ scopes })}
      />
    </Action>
  );
}
