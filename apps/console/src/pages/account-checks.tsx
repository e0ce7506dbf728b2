import { Table } from '../components/table.tsx';
import { Chip, Time } from '../components/values.tsx';
import type { AccountStatus, AuditRecord } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';

const TITLE: Text = { en: 'Account checks', id: 'Cek rekening' };
const CHECKED: Text = { en: 'Checked', id: 'Dicek' };
const VERDICT: Text = { en: 'Verdict', id: 'Hasil' };
const NO_VERDICT: Text = { en: 'No verdict', id: 'Tanpa hasil' };
const VERDICTS = {
  ACTIVE: { tone: 'good', text: { en: 'Active', id: 'Aktif' } },
  INACTIVE: { tone: 'warn', text: { en: 'Inactive', id: 'Tidak aktif' } },
  NOT_FOUND: { tone: 'bad', text: { en: 'Not found', id: 'Tidak ditemukan' } },
  BLOCKED: { tone: 'bad', text: { en: 'Blocked', id: 'Diblokir' } },
} as const satisfies Record<AccountStatus, unknown>;

/** The checks of one request. */
export function AccountChecks({ checks }: { readonly checks: readonly AuditRecord[] }) {
  return (
    <>
      <h2>{say(TITLE)}</h2>
      <Table
        caption={say(TITLE)}
        rows={checks}
        keyOf={(each) => `${each.checked_at} ${each.bic} ${each.account_hash}`}
        empty=""
        columns={[
          { title: say(CHECKED), cell: (each) => <Time at={each.checked_at} /> },
          {
            title: say(TEXTS.client),
            cell: (each) => <a href={address(['clients', each.client_id])}>{each.client_id}</a>,
          },
          { title: say(TEXTS.bank), cell: (each) => <a href={address(['banks', each.bic])}>{each.bic}</a> },
          { title: say(VERDICT), cell: (each) => <Verdict verdict={each.verdict} /> },
          { title: say(TEXTS.reason), cell: (each) => each.no_verdict_reason ?? '–' },
        ]}
      />
      <h2>{say(TEXTS.transactions)}</h2>
    </>
  );
}

function Verdict({ verdict }: Pick<AuditRecord, 'verdict'>) {
  if (verdict === null) return <Chip tone="calm" text={say(NO_VERDICT)} />;
  return <Chip tone={VERDICTS[verdict].tone} text={say(VERDICTS[verdict].text)} />;
}
