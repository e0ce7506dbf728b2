import { ACMT_03, ACMT_04 } from './acmt/operations.ts';
import { BI_FAST } from './bi-fast/operations.ts';
import type { Form } from './form.ts';
import { SNAP_FORMS } from './snap/operations.ts';

/** The banks that this one can be, as `BANK_FORM` names them. */
export const FORMS = {
  ...SNAP_FORMS,
  'acmt-03': ACMT_03,
  'acmt-04': ACMT_04,
  'bi-fast': BI_FAST,
} as const satisfies Record<string, Form>;

export type FormName = keyof typeof FORMS;

export const isFormName = (name: string): name is FormName => Object.hasOwn(FORMS, name);
