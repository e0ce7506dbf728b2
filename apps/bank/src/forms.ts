import { ACMT_03, ACMT_04 } from './acmt/operations.ts';
import { BI_FAST } from './bi-fast/operations.ts';
import type { Form } from './form.ts';
import type { FormName } from './form-names.ts';
import { SNAP_FORMS } from './snap/operations.ts';

export const FORMS: Readonly<Record<FormName, Form>> = {
  ...SNAP_FORMS,
  'acmt-03': ACMT_03,
  'acmt-04': ACMT_04,
  'bi-fast': BI_FAST,
};
