import { say } from '../preferences.ts';
import { TEXTS } from '../texts.ts';
import type { Column } from './table.tsx';
import { Money, Time, TransactionLink } from './values.tsx';

/** The columns that lists of transactions share. */

interface Listed {
  readonly client_id: string;
  readonly transaction_id: string;
  /** Where the list has it. */
  readonly reference_id?: string;
}

export const transactionColumn = (): Column<Listed> => ({
  title: say(TEXTS.transaction),
  cell: ({ client_id: clientId, transaction_id: id, reference_id: reference }) => (
    <>
      <TransactionLink clientId={clientId} id={id} />
      {reference !== undefined && <span class="below">{reference}</span>}
    </>
  ),
});

export const amountColumn = (): Column<{ readonly amount: string; readonly currency: string }> => ({
  title: say(TEXTS.amount),
  isNumber: true,
  cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
});

export const bankColumn = (): Column<{ readonly bank_name: string; readonly account_number: string }> => ({
  title: say(TEXTS.bank),
  cell: ({ bank_name: name, account_number: account }) => (
    <>
      {name}
      <span class="below mono">{account}</span>
    </>
  ),
});

export const clientColumn = (): Column<{ readonly client_id: string }> => ({
  title: say(TEXTS.client),
  cell: ({ client_id: id }) => id,
});

export const createdColumn = (): Column<{ readonly created_at: string }> => ({
  title: say(TEXTS.created),
  isNumber: true,
  cell: ({ created_at: at }) => <Time at={at} />,
});
