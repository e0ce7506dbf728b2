import { call } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { Loaded, Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Chip, Progress, Time } from '../components/values.tsx';
import { integer } from '../format.ts';
import { language, say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const LEAD: Text = {
  en: 'Bulk validations that run, of all clients, the oldest first.',
  id: 'Validasi massal yang berjalan, dari semua klien, yang terlama lebih dulu.',
};
const NONE: Text = { en: 'No bulk validation is running.', id: 'Tidak ada validasi massal yang berjalan.' };
const RUNNING: Text = { en: 'Running', id: 'Berjalan' };
const HELD: Text = { en: 'Waits for a limit', id: 'Menunggu batas' };

const POLL_MS = 5_000;

export function ValidationsPage() {
  const read = useResource(
    'validations',
    (signal) => call('listRunningAccountValidations', { query: { limit: 200 } }, signal),
    POLL_MS,
  );
  return (
    <Page title={say(TEXTS.validations)} lead={say(LEAD)}>
      <Loaded resource={read}>
        {({ validations, has_more: hasMore }) => (
          <>
            <Table
              caption={say(TEXTS.validations)}
              rows={validations}
              keyOf={(each) => each.validation_id}
              empty={say(NONE)}
              columns={[
                { title: 'ID', cell: (each) => <code>{each.validation_id}</code> },
                {
                  title: say(TEXTS.client),
                  cell: (each) => <a href={address(['clients', each.client_id])}>{each.client_id}</a>,
                },
                {
                  title: say(TEXTS.state),
                  cell: (each) => <Chip tone="busy" text={say(each.held_until === null ? RUNNING : HELD)} />,
                },
                {
                  title: say(TEXTS.progress),
                  isNumber: true,
                  cell: (each) => (
                    <Progress
                      value={each.results}
                      max={Math.max(each.rows, 1)}
                      text={doneText(each.results, each.rows)}
                    />
                  ),
                },
                { title: say(TEXTS.created), isNumber: true, cell: (each) => <Time at={each.created_at} /> },
              ]}
            />
            {hasMore && <p class="empty">{say(TEXTS.more)}</p>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

const doneText = (done: number, total: number): string =>
  `${integer(done, language.value)} / ${integer(total, language.value)}`;
