import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import { duration, figure } from '../format.ts';
import { language, say, type Text } from '../preferences.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'The processes that share this database, and how busy they are.',
  id: 'Proses yang memakai basis data ini, dan seberapa sibuk.',
};
const NONE: Text = { en: 'No process has given a sign of life.', id: 'Tidak ada proses yang memberi tanda.' };
const PROCESS: Text = { en: 'Process', id: 'Proses' };
const THIS_ONE: Text = { en: 'answers you', id: 'menjawab Anda' };
const STARTED: Text = { en: 'Started', id: 'Mulai' };
const HEARTBEAT: Text = { en: 'Last sign of life', id: 'Tanda terakhir' };
const AGO: Text = { en: '{time} ago', id: '{time} lalu' };
const BUSY: Text = { en: 'Busy', id: 'Sibuk' };
const MEMORY: Text = { en: 'Memory', id: 'Memori' };
const CLOCK: Text = { en: 'Clock ahead', id: 'Jam lebih cepat' };
const VERSION: Text = { en: 'Version', id: 'Versi' };

const POLL_MS = 5_000;
const BYTES_PER_MB = 1_048_576;

export function ProcessesPage() {
  const read = useResource('processes', (signal) => call('listProcesses', {}, signal), POLL_MS);
  return (
    <Page title={say(TEXTS.processes)} lead={say(LEAD)}>
      <Loaded resource={read}>
        {({ processes }) => (
          <Table
            caption={say(TEXTS.processes)}
            rows={processes}
            keyOf={(each) => each.process_id}
            empty={say(NONE)}
            columns={[
              {
                title: say(PROCESS),
                cell: (each) => (
                  <>
                    {each.host_name} <span class="muted">{each.pid}</span>{' '}
                    {each.is_this_one && <Chip tone="calm" text={say(THIS_ONE)} />}
                    <span class="below mono">{each.process_id}</span>
                  </>
                ),
              },
              { title: say(VERSION), cell: (each) => each.version },
              { title: say(STARTED), isNumber: true, cell: (each) => <Time at={each.started_at} /> },
              {
                title: say(HEARTBEAT),
                isNumber: true,
                cell: (each) => say(AGO, { time: duration(each.last_heartbeat_seconds * 1000, language.value) }),
              },
              {
                title: say(BUSY),
                isNumber: true,
                cell: (each) => `${figure(each.event_loop_utilization * 100, language.value)} %`,
              },
              {
                title: say(MEMORY),
                isNumber: true,
                cell: (each) => `${figure(each.resident_bytes / BYTES_PER_MB, language.value)} MB`,
              },
              {
                title: say(CLOCK),
                isNumber: true,
                cell: (each) =>
                  each.clock_skew_ms === null ? '–' : `${figure(each.clock_skew_ms, language.value)} ms`,
              },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}
