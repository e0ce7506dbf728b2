import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Loaded } from '../components/page.tsx';
import { showSecret } from '../components/secret.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/values.tsx';
import type { ClientSecret, OperatorClient } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';
import { isGiven } from './clients.tsx';

/** The secrets with which a client logs in. */

const NONE: Text = { en: 'It has no secret.', id: 'Tidak ada secret.' };
const NOT_USED: Text = { en: 'not yet', id: 'belum' };
const ADD: Text = { en: 'Add a secret', id: 'Tambah secret' };
const ADD_TEXT: Text = {
  en: 'Both are valid, until the former one is retired: wait until it is not used any more.',
  id: 'Keduanya berlaku sampai yang lama dihentikan: tunggu sampai tidak dipakai lagi.',
};
const REPLACE: Text = { en: 'Replace all', id: 'Ganti semua' };
const REPLACE_TEXT: Text = {
  en: 'For a secret that has leaked. The client cannot log in from now on, until it has the new one.',
  id: 'Untuk secret yang bocor. Mulai sekarang klien tidak bisa masuk, sampai punya yang baru.',
};
const RETIRE: Text = { en: 'Retire', id: 'Hentikan' };
const RETIRE_TEXT: Text = {
  en: 'It obtains no more tokens. Tokens that it obtained stay valid until they expire.',
  id: 'Secret ini tidak bisa mengambil token lagi. Token yang sudah diambil berlaku sampai kedaluwarsa.',
};
const BY_COMMAND: Text = {
  en: 'It may send the feed, which no role may. Create its secrets with npm run manage -- client add-secret.',
  id: 'Klien ini boleh mengirim feed, peran tidak. Buat secret-nya dengan npm run manage -- client add-secret.',
};
const CREATED: Text = { en: 'Created.', id: 'Sudah dibuat.' };
const RETIRED: Text = { en: 'Retired.', id: 'Sudah dihentikan.' };

export function ClientSecrets({ client }: { readonly client: OperatorClient }) {
  const { client_id: clientId } = client;
  const path = { client_id: clientId };
  const read = useResource(`secrets ${clientId}`, (signal) => call('listClientSecrets', { path }, signal));
  const create = async (replaceAll: boolean, reason: string) =>
    outcomeOf(
      await propose('createClientSecret', { path, body: { replace_all: replaceAll, reason } }),
      ({ client_secret: secret }) => {
        showSecret(secret);
        return say(CREATED);
      },
    );
  const actions = (
    <div class="actions">
      <Action
        title={say(ADD)}
        description={say(ADD_TEXT)}
        onDone={read.reload}
        run={(reason) => create(false, reason)}
      />
      <Action
        title={say(REPLACE)}
        description={say(REPLACE_TEXT)}
        onDone={read.reload}
        run={(reason) => create(true, reason)}
      />
    </div>
  );
  return (
    <section>
      <h2>{say(TEXTS.secrets)}</h2>
      <Loaded resource={read}>
        {({ secrets }) => (
          <Table<ClientSecret>
            caption={say(TEXTS.secrets)}
            rows={secrets}
            keyOf={(each) => each.secret_id}
            empty={say(NONE)}
            columns={[
              { title: 'ID', cell: (each) => <code>{each.secret_id}</code> },
              { title: say(TEXTS.created), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
              { title: say(TEXTS.lastUsed), isNumber: true, cell: (each) => each.last_used_on ?? say(NOT_USED) },
              ...(may('changeClient') && secrets.length > 1
                ? [
                    {
                      title: say(TEXTS.action),
                      cell: (each: ClientSecret) => (
                        <Action
                          title={say(RETIRE)}
                          label={`${say(RETIRE)}: ${each.secret_id}`}
                          description={say(RETIRE_TEXT)}
                          onDone={read.reload}
                          run={async (reason) => {
                            const ofSecret = { ...path, secret_id: each.secret_id };
                            await call('retireClientSecret', { path: ofSecret, body: { reason } });
                            return say(RETIRED);
                          }}
                        />
                      ),
                    },
                  ]
                : []),
            ]}
          />
        )}
      </Loaded>
      {may('changeClient') && (client.scopes.every(isGiven) ? actions : <p class="empty">{say(BY_COMMAND)}</p>)}
    </section>
  );
}
