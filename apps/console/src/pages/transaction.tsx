import { useState } from 'preact/hooks';
import { call, propose } from '../api/request.ts';
import { useResource } from '../api/resource.ts';
import { may } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { type Fact, Facts } from '../components/facts.tsx';
import { Loaded, Page } from '../components/page.tsx';
import { Copy, Money, Status, Time } from '../components/values.tsx';
import { linkFrom } from '../format.ts';
import type { InquireResult, OperatorTransaction, SupportSummary, TransactionWithSummary } from '../generated/api.ts';
import { language, say, type Text } from '../preferences.ts';
import { address, place } from '../router.ts';
import { settings } from '../settings.ts';
import { TEXTS } from '../texts.ts';
import { Timeline } from './timeline.tsx';

const READ_OUT: Text = { en: 'What to tell the customer', id: 'Yang disampaikan kepada nasabah' };
const FACTS_TITLE: Text = { en: 'Facts', id: 'Fakta' };
const HISTORY: Text = { en: 'What happened', id: 'Yang terjadi' };

/** A status that can still change is read again. */
const POLL_MS = 5_000;

export function TransactionPage({ id }: { readonly id: string }) {
  const clientId = place.value.query.get('client_id');
  const input = { path: { transaction_id: id }, query: clientId === null ? {} : { client_id: clientId } };
  const [isFinal, setFinal] = useState(false);
  const pollMs = isFinal ? null : POLL_MS;
  const read = useResource(
    `transaction ${clientId} ${id}`,
    async (signal) => {
      const data = await call('readTransaction', input, signal);
      setFinal(data.transaction.status !== 'PROCESS');
      return data;
    },
    pollMs,
  );
  const timeline = useResource(
    `timeline ${clientId} ${id}`,
    (signal) => call('readTransactionTimeline', input, signal),
    pollMs,
  );
  const reload = (): void => {
    read.reload();
    timeline.reload();
  };
  return (
    <Page title={id} aside={read.data === null ? null : <Heading {...read.data} />}>
      <Loaded resource={read}>
        {(data) => (
          <>
            <Sentence summary={data.summary} />
            <Actions data={data} onDone={reload} />
            <h2>{say(HISTORY)}</h2>
            <Loaded resource={timeline}>
              {({ entries }) => <Timeline entries={entries} transaction={data.transaction} onResent={reload} />}
            </Loaded>
            <h2>{say(FACTS_TITLE)}</h2>
            <Facts facts={factsOf(data.transaction)} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Heading({ transaction }: Pick<TransactionWithSummary, 'transaction'>) {
  return (
    <div class="heading">
      <Copy text={transaction.transaction_id} />
      <Status
        status={transaction.status}
        overdueSince={transaction.overdue_since}
        reversedAt={transaction.reversed_at}
      />
      <strong class="amount">
        <Money amount={transaction.amount} currency={transaction.currency} />
      </strong>
    </div>
  );
}

function Sentence({ summary }: { readonly summary: SupportSummary }) {
  const other = language.value === 'en' ? 'id' : 'en';
  return (
    <section class="sentence" aria-label={say(READ_OUT)}>
      <p class="spoken">
        {summary[language.value]} <Copy text={summary[language.value]} label={say(READ_OUT)} />
      </p>
      <p class="muted" lang={other}>
        {summary[other]}
      </p>
    </section>
  );
}

const INQUIRE: Text = { en: 'Ask the bank now', id: 'Tanya bank sekarang' };
const INQUIRE_TEXT: Text = {
  en: 'Tiba asks the bank about this transfer ahead of its schedule. Nothing is sent twice.',
  id: 'Tiba menanyakan transfer ini ke bank lebih awal dari jadwal. Tidak ada yang dikirim dua kali.',
};
const answered = (status: string): Text => ({
  en: `The bank was asked and answered ${status}.`,
  id: `Bank sudah ditanya dan menjawab ${status}.`,
});
const INQUIRED: Readonly<Record<InquireResult, Text>> = {
  PROCESS: answered('PROCESS'),
  SUCCESS: answered('SUCCESS'),
  FAILED: answered('FAILED'),
  unknown_transfer: {
    en: 'The bank was asked and does not know the transfer.',
    id: 'Bank sudah ditanya dan tidak mengenal transfer ini.',
  },
  no_status: { en: 'The bank was asked and gave no status.', id: 'Bank sudah ditanya dan tidak memberi status.' },
  no_answer_yet: { en: 'The bank was asked and has not answered yet.', id: 'Bank sudah ditanya dan belum menjawab.' },
  too_soon: {
    en: 'The bank was not asked: it was a moment ago, or it wants its first question later.',
    id: 'Bank tidak ditanya: baru saja ditanya, atau bank baru mau ditanya nanti.',
  },
  no_slot: {
    en: 'The bank was not asked: it has too many questions to answer, or fails. Try again in a minute.',
    id: 'Bank tidak ditanya: terlalu banyak pertanyaan, atau bank sedang gangguan. Coba lagi sebentar.',
  },
  not_supported: {
    en: 'The bank was not asked: it cannot be asked about this transfer.',
    id: 'Bank tidak ditanya: tidak bisa ditanya tentang transfer ini.',
  },
};
const NO_RAIL: Text = {
  en: 'Tiba cannot ask a bank about it: the feed did not name its rail. Its status comes from the feed only.',
  id: 'Tiba tidak bisa bertanya ke bank: feed tidak menyebut rail-nya. Statusnya hanya datang dari feed.',
};
const END_REVIEW: Text = { en: 'End the review', id: 'Akhiri peninjauan' };
const END_REVIEW_TEXT: Text = {
  en: 'After you have talked to the bank. Tiba asks it again at once. Only its answer or the feed changes the status.',
  id: 'Setelah Anda bicara dengan bank. Tiba langsung bertanya lagi. Status hanya berubah oleh jawaban bank atau feed.',
};
const REVIEW_ENDED: Text = { en: 'The review has ended.', id: 'Peninjauan berakhir.' };
const NO_REVIEW: Text = { en: 'It was not under review.', id: 'Tidak sedang ditinjau.' };

function Actions({ data, onDone }: { readonly data: TransactionWithSummary; readonly onDone: () => void }) {
  const { transaction, in_review: isInReview } = data;
  const { client_id, transaction_id, status, rail } = transaction;
  const input = { path: { transaction_id }, query: { client_id } };
  const links = [
    { text: TEXTS.logs, href: linkFrom(settings.value?.log_url ?? null, linkValues(transaction)) },
    { text: TEXTS.traces, href: linkFrom(settings.value?.trace_url ?? null, linkValues(transaction)) },
  ];
  return (
    <div class="actions">
      {status === 'PROCESS' && rail === null && <span class="muted small">{say(NO_RAIL)}</span>}
      {may('inquire') && status === 'PROCESS' && rail !== null && (
        <Action
          title={say(INQUIRE)}
          description={say(INQUIRE_TEXT)}
          onDone={onDone}
          run={async (reason) => {
            const { result } = await call('inquireTransaction', { ...input, body: { reason } });
            return say(INQUIRED[result]);
          }}
        />
      )}
      {may('resolveReview') && isInReview && (
        <Action
          title={say(END_REVIEW)}
          description={say(END_REVIEW_TEXT)}
          onDone={onDone}
          run={async (reason) => {
            const answer = await propose('resolveTransactionReview', { ...input, body: { reason } });
            if ('proposal' in answer) return answer.proposal;
            return say(answer.done.resolved ? REVIEW_ENDED : NO_REVIEW);
          }}
        />
      )}
      {links.map(
        ({ text, href }) =>
          href !== null && (
            <a key={text.en} class="button" href={href} target="_blank" rel="noreferrer">
              {say(text)}
            </a>
          ),
      )}
    </div>
  );
}

const AROUND_MS = 60 * 60 * 1_000;

/** From an hour before it was created to an hour after its end, or until now. */
function linkValues({ transaction_id, client_id, created_at, processed_at }: OperatorTransaction) {
  const at = (time: number): string => new Date(time).toISOString();
  return {
    transaction_id,
    client_id,
    from: at(Date.parse(created_at) - AROUND_MS),
    to: at(processed_at === null ? Date.now() : Date.parse(processed_at) + AROUND_MS),
  };
}

const UNMASK: Text = { en: 'Show', id: 'Tampilkan' };
const UNMASK_TITLE: Text = { en: 'Show account number and name', id: 'Tampilkan nomor dan nama rekening' };
const UNMASK_TEXT: Text = {
  en: 'They are personal data. That you look at them is recorded.',
  id: 'Ini data pribadi. Bahwa Anda melihatnya dicatat.',
};
const FEE: Text = { en: 'Fee', id: 'Biaya' };
const TOTAL: Text = { en: 'Total', id: 'Total' };
const PROCESSED: Text = { en: 'Ended', id: 'Selesai' };
const EXPECTED: Text = { en: 'Expected by', id: 'Diharapkan sebelum' };
const RETURNED: Text = { en: 'Returned', id: 'Dikembalikan' };
const FAILURE_REASON: Text = { en: 'Why it failed', id: 'Sebab gagal' };
const RAIL_REFERENCE: Text = { en: 'Rail reference', id: 'Referensi rail' };
const BANK_REFERENCE: Text = { en: 'Bank reference', id: 'Referensi bank' };
const EXTERNAL_ID: Text = { en: 'External ID', id: 'ID eksternal' };

function factsOf(transaction: OperatorTransaction): readonly Fact[] {
  const { currency } = transaction;
  return [
    [TEXTS.client, <a href={address(['clients', transaction.client_id])}>{transaction.client_id}</a>],
    [TEXTS.reference, <Code text={transaction.reference_id} />],
    [TEXTS.bank, `${transaction.bank_name} (${transaction.bank_code})`],
    [TEXTS.account, <Account transaction={transaction} />],
    [TEXTS.amount, <Money amount={transaction.amount} currency={currency} />],
    [FEE, <Money amount={transaction.fee} currency={currency} />],
    [TOTAL, <Money amount={transaction.total_amount} currency={currency} />],
    [TEXTS.created, <Time at={transaction.created_at} focusable />],
    [EXPECTED, timeOrNull(transaction.expected_by)],
    [TEXTS.overdueSince, timeOrNull(transaction.overdue_since)],
    [PROCESSED, timeOrNull(transaction.processed_at)],
    [RETURNED, timeOrNull(transaction.reversed_at)],
    [FAILURE_REASON, failureReason(transaction)],
    [TEXTS.rail, transaction.rail],
    [RAIL_REFERENCE, codeOrNull(transaction.rail_reference)],
    [BANK_REFERENCE, codeOrNull(transaction.bank_reference)],
    [EXTERNAL_ID, codeOrNull(transaction.external_id)],
  ];
}

/** The service explains its code in English. In Indonesian, the sentence for the customer explains it. */
const failureReason = ({ failure_reason: reason }: OperatorTransaction): string | null =>
  language.value === 'en' ? reason : (reason?.split(':')[0] ?? null);

const timeOrNull = (at: string | null) => (at === null ? null : <Time at={at} focusable />);
const codeOrNull = (text: string | null) => (text === null ? null : <Code text={text} />);

function Code({ text }: { readonly text: string }) {
  return (
    <>
      <code>{text}</code> <Copy text={text} />
    </>
  );
}

/** Masked, until a person has given a reason. What was unmasked is gone when the page is left. */
function Account({ transaction }: { readonly transaction: OperatorTransaction }) {
  const { transaction_id, client_id } = transaction;
  const [unmasked, setUnmasked] = useState<{ readonly number: string; readonly name: string } | null>(null);
  const { number, name } = unmasked ?? { number: transaction.account_number, name: transaction.account_name };
  return (
    <>
      <span class="mono">{number}</span> {name}{' '}
      {may('unmask') && unmasked === null && (
        <Action
          title={say(UNMASK)}
          label={say(UNMASK_TITLE)}
          description={say(UNMASK_TEXT)}
          run={async (reason) => {
            const input = { path: { transaction_id }, query: { client_id }, body: { reason } };
            const { account_number, account_name } = await call('unmaskTransaction', input);
            setUnmasked({ number: account_number, name: account_name });
            return '';
          }}
        />
      )}
    </>
  );
}
