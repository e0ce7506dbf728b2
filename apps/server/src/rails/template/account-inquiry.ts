/** What is asked, for writing it and for holding the reply against it. */
export interface SentAccountInquiry {
  // Yours: whatever the bank's reply repeats of the question. The more of it, the less a reply to another one is believed.
  readonly requestId: string;
  readonly bankBic: string;
  readonly accountNumber: string;
}

// Yours: the path below `base_url` at which the bank answers about accounts.
export const ACCOUNT_INQUIRY_PATH = '/accounts/lookup';

export function writeAccountInquiry({ requestId, bankBic, accountNumber }: SentAccountInquiry): string {
  // Yours: the body of the question, in the bank's words.
  return JSON.stringify({ request_id: requestId, bank: bankBic, account: accountNumber });
}
