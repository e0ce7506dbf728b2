import { tiba } from './tiba.mjs';

const validation = await tiba.accountValidations.create(
  {
    accounts: [
      { reference: 'employee 1', bank_code: '014', account_number: '1234567890' },
      { reference: 'employee 2', bank_code: 'BRI', account_number: '002101000120404' },
    ],
  },
  // The same key for the same payroll: after a crash, the same validation goes on.
  { idempotencyKey: 'salaries-2026-11' },
);

for await (const row of tiba.accountValidations.results(validation.validation_id, { follow: true })) {
  console.log(row.reference, row.status ?? row.error_code);
}
