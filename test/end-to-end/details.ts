/** The fixed details of a history's transactions, with text and amounts that encoding errors would corrupt. */
export interface Details {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly amount: string;
  readonly fee: string;
  readonly total: string;
  /** The total with OTHER_AMOUNT instead of `amount`. */
  readonly otherTotal: string;
  readonly accountName: string;
  readonly description: string;
}

const SPECIAL: readonly Omit<Details, 'transactionId'>[] = [
  {
    referenceId: 'INV/2026/001',
    amount: '150000.00',
    fee: '2500.00',
    total: '152500.00',
    otherTotal: '2577.00',
    accountName: 'BUDI SANTOSO',
    description: 'Refund',
  },
  {
    referenceId: 'evt_{"data":{}}',
    amount: '9007199254740993.01',
    fee: '0.98',
    total: '9007199254740993.99',
    otherTotal: '77.98',
    accountName: 'IBU "{\\}" N\u00dbR',
    description: '},"meta":{"a":"\u2028"}',
  },
  {
    referenceId: '\u{1F600}\u{1F600}',
    amount: '0.01',
    fee: '0.00',
    total: '0.01',
    otherTotal: '77.00',
    accountName: "D'ANGELO, PT.",
    description: '',
  },
  {
    referenceId: ' 4 ',
    amount: '999999999999999999.99',
    fee: '0.00',
    total: '999999999999999999.99',
    otherTotal: '77.00',
    accountName: 'A',
    description: '\\u0000 \\ "',
  },
];

/** Further transactions with plain details: some commands each need one of their own. */
const PLAIN_COUNT = 60;

/** The index of the first plain one. Only commands that need an unused transaction use the plain ones. */
export const FIRST_PLAIN = SPECIAL.length;

const withId = (details: Omit<Details, 'transactionId'>, index: number): Details => ({
  transactionId: `TM${String(index).padStart(8, '0')}`,
  ...details,
});

/** The tests identify a transaction by its index here. */
export const DETAILS: readonly Details[] = [
  ...SPECIAL,
  ...Array.from({ length: PLAIN_COUNT }, (_, index) => ({
    referenceId: `plain ${index}`,
    amount: '10.00',
    fee: '1.00',
    total: '11.00',
    otherTotal: '78.00',
    accountName: 'SITI',
    description: '',
  })),
].map(withId);

/** Values of status updates that contradict the details. */
export const OTHER_AMOUNT = '77.00';
export const OTHER_NAME = 'ANOTHER NAME';
export const WRONG_TOTAL = '1.23';

/** The time between one transaction becoming overdue and the next. */
export const OVERDUE_STEP_MS = 60 * 60_000;
export const OVERDUE_MINUTES = 100_000;

export const BANK = { code: '014', name: 'Bank Central Asia', accountNumber: '0123456789' } as const;

export const detailsOf = (index: number): Details => {
  const details = DETAILS[index];
  if (details === undefined) throw new Error(`there are no details with index ${index}`);
  return details;
};
