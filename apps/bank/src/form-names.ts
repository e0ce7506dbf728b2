/** The banks that this one can be, as `BANK_FORM` names them. */
export const FORM_NAMES = [
  'snap',
  'snap-bca',
  'snap-bri',
  'snap-mandiri',
  'snap-midtrans',
  'acmt-03',
  'acmt-04',
  'bi-fast',
] as const;
export type FormName = (typeof FORM_NAMES)[number];

export const isFormName = (name: string): name is FormName => (FORM_NAMES as readonly string[]).includes(name);
