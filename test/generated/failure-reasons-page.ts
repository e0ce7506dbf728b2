import {
  FAILURE_REASONS,
  type FailureReason,
  publishedReason,
  reasonText,
} from '../../apps/server/src/domain/failure-reason.ts';

const WHOSE = {
  recipient: 'the recipient',
  sender: 'you, the client',
  bank: 'the bank',
  operator: 'us, who run this service',
} as const;

/** Renders docs/failure-reasons.md from the table of reasons. */
export function renderFailureReasonsPage(): string {
  const codes = Object.keys(FAILURE_REASONS) as FailureReason[];
  const rows = codes.map((code) => {
    const { happened, fault, remedy } = FAILURE_REASONS[code];
    return `| \`${code}\` | ${happened.en} | ${WHOSE[fault]} | ${remedy.en} |`;
  });
  const indonesian = codes.map((code) => `| \`${code}\` | ${reasonText(code).id} |`);
  return `# Why disbursements fail

This page is generated from \`apps/server/src/domain/failure-reason.ts\`: change it there, then run \`npm run generate\`.

The \`failure_reason\` of a FAILED disbursement is one of these texts. It consists of a code, a colon, what happened, and
what to do:

\`\`\`
${publishedReason('ACCOUNT_NOT_FOUND')}
\`\`\`

Programs read the code, up to the colon; people read the rest. New codes may be added. No code is changed or removed.
Handle a code that you do not know like \`OTHER\`.

| code | what happened | who can fix it | what to do |
|---|---|---|---|
${rows.join('\n')}

## In Indonesian

Check-status and the list of transactions answer with these texts when \`Accept-Language\` prefers Indonesian. What
is stored, and what callbacks and events carry, is the English text.

| code | text |
|---|---|
${indonesian.join('\n')}

## In the feed

The \`failure_reason\` of a [status update](feed.md) is a code or a whole text of this page. Any other text becomes
\`OTHER\`. The original text is stored with the status update and is not shown to clients.

## From a bank

A bank's reason for a failed transfer becomes one of these codes. A reason whose meaning is uncertain becomes
\`REJECTED_BY_BANK\`. See [SNAP](snap.md#transaction-status-inquiry) and [BI-FAST](bi-fast.md).
`;
}
