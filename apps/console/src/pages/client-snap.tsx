import { useState } from 'preact/hooks';
import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action, outcomeOf } from '../components/action.tsx';
import { Select } from '../components/choices.tsx';
import { useEntered } from '../components/entered.ts';
import { Facts } from '../components/facts.tsx';
import { Loaded } from '../components/page.tsx';
import { showSecret } from '../components/secret.tsx';
import { Time } from '../components/values.tsx';
import type { ExternalIdRule, SnapBodyHash, SnapOptions } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

/** How a client uses the SNAP listener. */

const NOT_USED: Text = { en: 'It cannot use the SNAP listener.', id: 'Klien tidak bisa memakai listener SNAP.' };
export const SNAP_TEXTS = {
  partner_id: { en: 'X-PARTNER-ID', id: 'X-PARTNER-ID' },
  external_ids: { en: 'X-EXTERNAL-ID', id: 'X-EXTERNAL-ID' },
  body_hash: { en: 'Body is signed', id: 'Body ditandatangani' },
  clock_skew_seconds: { en: 'Clock may be off by (s)', id: 'Selisih jam paling banyak (d)' },
  secret: { en: 'Secret', id: 'Secret' },
  former_secret_until: { en: 'Former secret valid until', id: 'Secret lama berlaku sampai' },
  keys: { en: 'Public keys', id: 'Kunci publik' },
} as const satisfies Record<string, Text>;
const ALLOW: Text = { en: 'Allow SNAP', id: 'Izinkan SNAP' };
const OPTIONS_TEXT: Text = {
  en: 'They take effect in all processes within a second.',
  id: 'Berlaku di semua proses dalam satu detik.',
};
const ADD_KEY: Text = { en: 'Add a public key', id: 'Tambah kunci publik' };
const ADD_KEY_TEXT: Text = {
  en: 'RSA of 2048 bits or more, in PEM. Compare its ID with the client before you add it.',
  id: 'RSA 2048 bit atau lebih, dalam PEM. Bandingkan ID-nya dengan klien sebelum menambahkannya.',
};
const ADDED: Text = { en: 'Added.', id: 'Sudah ditambahkan.' };
const REMOVE: Text = { en: 'Remove key', id: 'Hapus kunci' };
const REMOVE_TEXT: Text = { en: 'Its signatures are rejected at once.', id: 'Tanda tangannya langsung ditolak.' };
const REMOVED: Text = { en: 'Removed.', id: 'Sudah dihapus.' };
const NEW_SECRET: Text = { en: 'New SNAP secret', id: 'Secret SNAP baru' };
const NEW_SECRET_TEXT: Text = {
  en: 'For symmetric signatures. The former one stays valid for 24 hours.',
  id: 'Untuk tanda tangan simetris. Yang lama berlaku 24 jam lagi.',
};
const CREATED: Text = { en: 'Created.', id: 'Sudah dibuat.' };
const END: Text = { en: 'End SNAP', id: 'Akhiri SNAP' };
const END_TEXT: Text = {
  en: 'Its keys and its secret are deleted. All of its SNAP requests are refused.',
  id: 'Kunci dan secret-nya dihapus. Semua permintaan SNAP-nya ditolak.',
};
const ENDED: Text = { en: 'Ended.', id: 'Sudah berakhir.' };

const EXTERNAL_ID_RULES = ['strict', 'off'] as const satisfies readonly ExternalIdRule[];
const BODY_HASHES = ['minified', 'without_whitespace'] as const satisfies readonly SnapBodyHash[];

export function ClientSnap({ clientId }: { readonly clientId: string }) {
  const path = { client_id: clientId };
  const read = useResource(`snap ${clientId}`, (signal) => call('readClientSnap', { path }, signal));
  return (
    <section>
      <h2>SNAP</h2>
      <Loaded resource={read}>
        {({ snap }) => (
          <>
            {snap === null ? <p class="empty">{say(NOT_USED)}</p> : <Options snap={snap} />}
            {may('changeClient') && <Changes path={path} snap={snap} onChanged={read.reload} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Options({ snap }: { readonly snap: SnapOptions }) {
  return (
    <Facts
      facts={[
        [SNAP_TEXTS.partner_id, <code>{snap.partner_id}</code>],
        [SNAP_TEXTS.external_ids, snap.external_ids],
        [SNAP_TEXTS.body_hash, snap.body_hash],
        [SNAP_TEXTS.clock_skew_seconds, snap.clock_skew_seconds],
        [SNAP_TEXTS.secret, say(snap.has_secret ? TEXTS.yes : TEXTS.none)],
        [
          SNAP_TEXTS.former_secret_until,
          snap.former_secret_until === null ? null : <Time at={snap.former_secret_until} />,
        ],
        [SNAP_TEXTS.keys, <code>{snap.key_ids.join(' ') || say(TEXTS.none)}</code>],
      ]}
    />
  );
}

interface ChangesProps {
  readonly path: { readonly client_id: string };
  readonly snap: SnapOptions | null;
  readonly onChanged: () => void;
}

function Changes({ path, snap, onChanged }: ChangesProps) {
  const [pem, setPem] = useState('');
  return (
    <div class="actions">
      <ChangeOptions path={path} snap={snap} onChanged={onChanged} />
      <Action
        title={say(ADD_KEY)}
        description={say(ADD_KEY_TEXT)}
        onOpen={() => setPem('')}
        onDone={onChanged}
        run={async (reason) =>
          outcomeOf(await propose('addClientSnapKey', { path, body: { public_key: pem, reason } }), () => say(ADDED))
        }
      >
        <label>
          PEM
          <textarea
            required
            rows={5}
            class="mono"
            placeholder="-----BEGIN PUBLIC KEY-----"
            value={pem}
            onInput={(event) => setPem(event.currentTarget.value)}
          />
        </label>
      </Action>
      <Action
        title={say(NEW_SECRET)}
        description={say(NEW_SECRET_TEXT)}
        onDone={onChanged}
        run={async (reason) =>
          outcomeOf(await propose('renewClientSnapSecret', { path, body: { reason } }), ({ snap_secret: secret }) => {
            showSecret(secret);
            return say(CREATED);
          })
        }
      />
      {snap?.key_ids.map((keyId) => (
        <Action
          key={keyId}
          title={`${say(REMOVE)} ${keyId}`}
          description={say(REMOVE_TEXT)}
          onDone={onChanged}
          run={async (reason) => {
            await call('removeClientSnapKey', { path: { ...path, key_id: keyId }, body: { reason } });
            return say(REMOVED);
          }}
        />
      ))}
      {snap !== null && (
        <Action
          title={say(END)}
          description={say(END_TEXT)}
          onDone={onChanged}
          run={async (reason) => {
            await call('endClientSnap', { path, body: { reason } });
            return say(ENDED);
          }}
        />
      )}
    </div>
  );
}

type ChangeableOptions = Pick<SnapOptions, 'partner_id' | 'external_ids' | 'body_hash' | 'clock_skew_seconds'>;

function ChangeOptions({ path, snap, onChanged }: ChangesProps) {
  const { partner_id = path.client_id, external_ids = 'strict', body_hash = 'minified' } = snap ?? {};
  const known: ChangeableOptions = {
    partner_id,
    external_ids,
    body_hash,
    clock_skew_seconds: snap?.clock_skew_seconds ?? 300,
  };
  const { fields, changes, isChanged, enter, clear } = useEntered(known);
  return (
    <Action
      title={say(snap === null ? ALLOW : TEXTS.change)}
      label={snap === null ? say(ALLOW) : `${say(TEXTS.change)}: SNAP`}
      description={say(OPTIONS_TEXT)}
      // Another person may have changed them since they were read.
      onOpen={() => (clear(), onChanged())}
      onDone={onChanged}
      run={async (reason) => {
        if (snap !== null && !isChanged) return say(TEXTS.unchanged);
        const body = { ...(snap === null ? fields : changes), reason };
        return outcomeOf(await propose('changeClientSnap', { path, body }), () => say(TEXTS.changed));
      }}
    >
      <label>
        {say(SNAP_TEXTS.partner_id)}
        <input
          required
          maxLength={36}
          value={fields.partner_id}
          onInput={(event) => enter({ partner_id: event.currentTarget.value })}
        />
      </label>
      <Select
        title={say(SNAP_TEXTS.external_ids)}
        values={EXTERNAL_ID_RULES}
        chosen={fields.external_ids}
        onChange={(rule) => enter({ external_ids: rule })}
      />
      <Select
        title={say(SNAP_TEXTS.body_hash)}
        values={BODY_HASHES}
        chosen={fields.body_hash}
        onChange={(hash) => enter({ body_hash: hash })}
      />
      <label>
        {say(SNAP_TEXTS.clock_skew_seconds)}
        <input
          type="number"
          required
          min="1"
          max="86400"
          value={fields.clock_skew_seconds}
          onInput={(event) => enter({ clock_skew_seconds: Number(event.currentTarget.value) })}
        />
      </label>
    </Action>
  );
}
