import { FAILURE_REASONS, type FailureReason, publishedReason } from '../../apps/server/src/domain/failure-reason.ts';

const WHOSE = {
  recipient: 'the recipient',
  sender: 'you, the client',
  bank: 'the bank',
  operator: 'us, who run this service',
} as const;

/** docs/failure-reasons.md, from the table of reasons. */
export function renderFailureReasonsPage(): string {
  const codes = Object.keys(FAILURE_REASONS) as FailureReason[];
  const rows = codes.map((code) => {
    const { happened, fault, remedy } = FAILURE_REASONS[code];
    return `| \`${code}\` | ${happened} | ${WHOSE[fault]} | ${remedy} |`;
  });
  return `# Why disbursements fail

This page is generated from \`apps/server/src/domain/failure-reason.ts\`: change it there, then run \`npm run generate\`.

\`failure_reason\` of a FAILED disbursement is one of these texts: a code, a colon, what happened, and what to do.

\`\`\`
${publishedReason('ACCOUNT_NOT_FOUND')}
\`\`\`

Let programs read the code, up to the colon, and people the rest. Codes are added, and none is changed or taken away: treat
one that you do not know like \`OTHER\`.

| code | what happened | who can mend it | what to do |
|---|---|---|---|
${rows.join('\n')}

## In the feed

\`failure_reason\` of a [word about a transaction](feed.md) is a code or a whole text of this page. Any other text becomes
\`OTHER\`: your own words stay in the observation, and clients are not shown them.

## From a bank

What a bank says of a transfer that failed becomes one of the codes; what it says that is not known for certain to mean
one of them is \`REJECTED_BY_BANK\`. See [SNAP](snap.md#asking-what-has-become-of-a-transfer) and [BI-FAST](bi-fast.md).
`;
}
