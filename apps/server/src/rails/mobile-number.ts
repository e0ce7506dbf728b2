/** `0812…` or `62812…`. */
export type MobileForm = 'national' | 'international';

/** `held` is a mobile number as an account number holds it: `0812…`. */
export const mobileNumber = (held: string, form: MobileForm): string =>
  form === 'national' ? held : `62${held.slice(1)}`;
