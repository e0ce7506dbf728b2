import type { RailSettings } from '../protocol.ts';

/** How the payment was ordered: internet, mobile, over the counter, other. */
export const CHANNELS = ['01', '02', '03', '99'] as const;
/** Investment, transfer of wealth, purchase, others. */
export const PURPOSES = ['01', '02', '03', '99'] as const;
/** The two spellings of the amount's member that public code has; the hub's own is not published. */
export const AMOUNT_MEMBERS = ['value', 'Value'] as const;

/** One way to the BI-FAST hub, as agreed with whoever stands in front of it. */
export interface BiFastSettings extends RailSettings {
  /** BIC of the participant in whose name is asked. */
  readonly bic: string;
  readonly channel: (typeof CHANNELS)[number];
  readonly purpose: (typeof PURPOSES)[number];
  /** In rupiah, with two places: an account enquiry has the form of a transfer, and names one. No money moves. */
  readonly enquiryAmount: string;
  readonly amountMember: (typeof AMOUNT_MEMBERS)[number];
  /** Below the address; empty where the address itself takes the messages. */
  readonly accountEnquiryPath: string;
  readonly paymentStatusPath: string;
}
