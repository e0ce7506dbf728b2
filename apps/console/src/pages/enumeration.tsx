import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import { figure, integer } from '../format.ts';
import type { EnumerationSignal, EnumerationSignalName } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'Clients whose account checks look like guessing, as the process that answers sees it. Talk to them.',
  id: 'Klien yang cek rekeningnya tampak seperti menebak, menurut proses yang menjawab. Hubungi mereka.',
};
const NONE: Text = { en: 'No client is restricted.', id: 'Tidak ada klien yang dibatasi.' };
const TODAY: Text = { en: 'Accounts today', id: 'Rekening hari ini' };
const SIGNALS: Text = { en: 'Signals', id: 'Tanda' };
const UNTIL: Text = { en: 'Until', id: 'Sampai' };
const LEVELS = {
  slowed: { tone: 'warn', text: { en: 'Slowed', id: 'Diperlambat' } },
  blocked: { tone: 'bad', text: { en: 'Blocked', id: 'Diblokir' } },
} as const;

const SIGNAL_TEXTS = {
  accounts_per_day: { en: 'accounts today', id: 'rekening hari ini' },
  sequential_numbers: { en: 'numbers in a row', id: 'nomor berurutan' },
  clustered_numbers: { en: 'numbers close together', id: 'nomor berdekatan' },
  not_found_ratio: { en: 'of them not found', id: 'tidak ditemukan' },
} as const satisfies Record<EnumerationSignalName, Text>;

function signalText({ signal, figure: value }: EnumerationSignal): string {
  const amount =
    signal === 'not_found_ratio' ? `${figure(value * 100, language.value)} %` : integer(value, language.value);
  return `${amount} ${say(SIGNAL_TEXTS[signal])}`;
}

const POLL_MS = 10_000;

export function EnumerationPage() {
  const read = useResource('enumeration', (signal) => call('listRestrictedClients', {}, signal), POLL_MS);
  return (
    <Page title={say(TEXTS.enumeration)} lead={say(LEAD)}>
      <Loaded resource={read}>
        {({ clients }) => (
          <Table
            caption={say(TEXTS.enumeration)}
            rows={clients}
            keyOf={(each) => each.client_id}
            empty={say(NONE)}
            columns={[
              {
                title: say(TEXTS.client),
                cell: (each) => <a href={address(['clients', each.client_id])}>{each.client_id}</a>,
              },
              {
                title: say(TODAY),
                isNumber: true,
                cell: (each) =>
                  `${integer(each.accounts_today, language.value)} / ${integer(each.accounts_per_day, language.value)}`,
              },
              {
                title: say(SIGNALS),
                cell: (each) =>
                  each.signals.map((signal) => (
                    <div key={signal.signal}>
                      <Chip tone={LEVELS[signal.level].tone} text={say(LEVELS[signal.level].text)} />{' '}
                      {signalText(signal)}
                    </div>
                  )),
              },
              {
                title: say(UNTIL),
                isNumber: true,
                cell: (each) => (
                  <Time
                    at={
                      each.signals
                        .map(({ until }) => until)
                        .toSorted()
                        .at(-1) ?? null
                    }
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}
