import type { Form } from './form.ts';
import { SNAP } from './snap/operations.ts';

/** The banks that this one can be, as `BANK_FORM` names them. */
export const FORMS = { snap: SNAP } as const satisfies Record<string, Form>;

export type FormName = keyof typeof FORMS;

export const isFormName = (name: string): name is FormName => Object.hasOwn(FORMS, name);
