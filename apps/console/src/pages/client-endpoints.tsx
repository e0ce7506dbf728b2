import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Choices } from '../components/choices.tsx';
import { reasonText } from '../components/endpoint-health.ts';
import { useEntered } from '../components/entered.ts';
import { Loaded } from '../components/page.tsx';
import { showSecret } from '../components/secret.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import type { ChangeClientCallbackEndpointRequest, ClientCallbackEndpoint, EventType } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

/** The addresses that a client's callbacks go to. */

const TITLE: Text = { en: 'Callback endpoints', id: 'Endpoint callback' };
const NONE: Text = { en: 'It gets no callbacks: no endpoint is registered.', id: 'Belum ada endpoint yang terdaftar.' };
const EVENTS: Text = { en: 'Events', id: 'Peristiwa' };
const ENABLED: Text = { en: 'Enabled', id: 'Aktif' };
const FAILING: Text = { en: 'Failing', id: 'Gagal' };
const DISABLED: Text = { en: 'Disabled', id: 'Nonaktif' };
const URL_TEXT: Text = { en: 'URL', id: 'URL' };
const SAME_URL: Text = { en: 'empty: stays as it is', id: 'kosong: tetap' };
const REGISTER: Text = { en: 'Register an endpoint', id: 'Daftarkan endpoint' };
const REGISTER_TEXT: Text = {
  en: 'It gets events from now on. The secret that signs its callbacks is shown when it is registered.',
  id: 'Menerima peristiwa mulai sekarang. Secret penanda tangan ditampilkan saat didaftarkan.',
};
const REGISTERED: Text = { en: 'Registered.', id: 'Sudah didaftarkan.' };
const CHANGE_TEXT: Text = {
  en: 'The next attempt of what is pending goes to the new URL.',
  id: 'Percobaan berikut dari yang tertunda memakai URL baru.',
};
const ROTATE: Text = { en: 'Rotate secret', id: 'Ganti secret' };
const ROTATE_TEXT: Text = {
  en: 'For 24 hours the former secret signs as well, so that the receiver can change over.',
  id: 'Selama 24 jam secret lama ikut menandatangani, sehingga penerima bisa beralih.',
};
const ROTATED: Text = { en: 'Rotated.', id: 'Sudah diganti.' };
const DISABLE: Text = { en: 'Disable', id: 'Nonaktifkan' };
const DISABLE_TEXT: Text = {
  en: 'Nothing is sent to it. Events of this time are sent only by a replay.',
  id: 'Tidak ada yang dikirim. Peristiwa selama ini hanya terkirim lewat kirim ulang.',
};
const ENABLE: Text = { en: 'Enable', id: 'Aktifkan' };
const ENABLE_TEXT: Text = {
  en: 'What is pending is sent at once. What happened while it was disabled needs a replay.',
  id: 'Yang tertunda langsung dikirim. Yang terjadi selama nonaktif perlu kirim ulang.',
};

/** As the service has them. */
const KINDS = [
  'disbursement.succeeded',
  'disbursement.failed',
  'disbursement.overdue',
  'disbursement.reversed',
  'account_validation.ended',
  'bank.down',
  'bank.up',
] as const satisfies readonly EventType[];
const DEFAULT_KINDS: readonly EventType[] = KINDS.filter((kind) => kind.startsWith('disbursement.'));

export function ClientEndpoints({ clientId }: { readonly clientId: string }) {
  const path = { client_id: clientId };
  const read = useResource(`endpoints ${clientId}`, (signal) => call('listClientCallbackEndpoints', { path }, signal));
  return (
    <section>
      <h2>{say(TITLE)}</h2>
      <Loaded resource={read}>
        {({ endpoints }) => (
          <Table<ClientCallbackEndpoint>
            caption={say(TITLE)}
            rows={endpoints}
            keyOf={(each) => each.endpoint_id}
            empty={say(NONE)}
            columns={[
              {
                title: say(TEXTS.receiver),
                cell: (each) => (
                  <>
                    {each.origin}
                    <span class="below mono id">{each.endpoint_id}</span>
                  </>
                ),
              },
              { title: say(TEXTS.state), cell: (each) => <State endpoint={each} /> },
              { title: say(EVENTS), cell: (each) => <span class="small">{each.kinds.join(' ')}</span> },
              { title: say(TEXTS.created), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
              ...(may('changeClient')
                ? [
                    {
                      title: say(TEXTS.action),
                      cell: (each: ClientCallbackEndpoint) => <Changes endpoint={each} onChanged={read.reload} />,
                    },
                  ]
                : []),
            ]}
          />
        )}
      </Loaded>
      {may('changeClient') && <Register clientId={clientId} onDone={read.reload} />}
    </section>
  );
}

function State({ endpoint }: { readonly endpoint: ClientCallbackEndpoint }) {
  const { status, disabled_reason: reason, failing_since: failingSince } = endpoint;
  if (status === 'disabled') {
    return (
      <>
        <Chip tone="bad" text={say(DISABLED)} />
        <span class="below">{reasonText(reason)}</span>
      </>
    );
  }
  if (failingSince === null) return <Chip tone="good" text={say(ENABLED)} />;
  return (
    <>
      <Chip tone="warn" text={say(FAILING)} />
      <span class="below">
        {say(TEXTS.since)} <Time at={failingSince} />
      </span>
    </>
  );
}

function Register({ clientId, onDone }: { readonly clientId: string; readonly onDone: () => void }) {
  const { fields, enter, clear } = useEntered({ url: '', kinds: DEFAULT_KINDS });
  return (
    <div class="actions">
      <Action
        title={say(REGISTER)}
        description={say(REGISTER_TEXT)}
        onOpen={clear}
        onDone={onDone}
        run={async (reason) => {
          const input = { path: { client_id: clientId }, body: { ...fields, reason } };
          return outcomeOf(await propose('registerClientCallbackEndpoint', input), ({ secret }) => {
            showSecret(secret);
            return say(REGISTERED);
          });
        }}
      >
        <UrlField value={fields.url} onChange={(url) => enter({ url })} isRequired />
        <Choices title={say(EVENTS)} values={KINDS} chosen={fields.kinds} onChange={(kinds) => enter({ kinds })} />
      </Action>
    </div>
  );
}

function UrlField({
  value,
  onChange,
  isRequired = false,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isRequired?: boolean;
}) {
  return (
    <label>
      {say(URL_TEXT)}
      <input
        type="url"
        required={isRequired}
        placeholder={isRequired ? 'https://callbacks.example.com/tiba' : say(SAME_URL)}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChangesProps {
  readonly endpoint: ClientCallbackEndpoint;
  readonly onChanged: () => void;
}

const labelOf = (action: Text, { origin }: ClientCallbackEndpoint): string => `${say(action)}: ${origin}`;

async function changeEndpoint(
  { client_id, endpoint_id }: ClientCallbackEndpoint,
  body: ChangeClientCallbackEndpointRequest,
) {
  const path = { client_id, endpoint_id };
  return outcomeOf(await propose('changeClientCallbackEndpoint', { path, body }), () => say(TEXTS.changed));
}

function Changes({ endpoint, onChanged }: ChangesProps) {
  const { client_id, endpoint_id } = endpoint;
  const isDisabled = endpoint.status === 'disabled';
  const path = { client_id, endpoint_id };
  return (
    <span class="chips">
      <ChangeOptions endpoint={endpoint} onChanged={onChanged} />
      <Action
        title={say(ROTATE)}
        label={labelOf(ROTATE, endpoint)}
        description={say(ROTATE_TEXT)}
        onDone={onChanged}
        run={async (reason) =>
          outcomeOf(await propose('rotateEndpointSecret', { path, body: { reason } }), ({ secret }) => {
            showSecret(secret);
            return say(ROTATED);
          })
        }
      />
      <Action
        title={say(isDisabled ? ENABLE : DISABLE)}
        label={labelOf(isDisabled ? ENABLE : DISABLE, endpoint)}
        description={say(isDisabled ? ENABLE_TEXT : DISABLE_TEXT)}
        onDone={onChanged}
        run={(reason) => changeEndpoint(endpoint, { disabled: !isDisabled, reason })}
      />
    </span>
  );
}

/** The URL is not shown: its path may have a key of the client. */
function ChangeOptions({ endpoint, onChanged }: ChangesProps) {
  const known: readonly EventType[] = KINDS.filter((each) => endpoint.kinds.includes(each));
  const { fields, changes, isChanged, enter, clear } = useEntered({ url: '', kinds: known });
  return (
    <Action
      title={say(TEXTS.change)}
      label={labelOf(TEXTS.change, endpoint)}
      description={say(CHANGE_TEXT)}
      // The client may have changed it since it was read.
      onOpen={() => (clear(), onChanged())}
      onDone={onChanged}
      run={async (reason) =>
        isChanged ? await changeEndpoint(endpoint, { ...changes, reason }) : say(TEXTS.unchanged)
      }
    >
      <UrlField value={fields.url} onChange={(url) => enter({ url })} />
      <Choices title={say(EVENTS)} values={KINDS} chosen={fields.kinds} onChange={(kinds) => enter({ kinds })} />
    </Action>
  );
}
