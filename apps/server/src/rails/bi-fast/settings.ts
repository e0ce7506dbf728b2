import type { AliasSettings } from '../aliases.ts';
import type { RailSettings } from '../protocol.ts';

/** How the payment was ordered: internet, mobile, over the counter, other. */
export const CHANNELS = ['01', '02', '03', '99'] as const;
/** Investment, transfer of wealth, purchase, others. */
export const PURPOSES = ['01', '02', '03', '99'] as const;
/** The two spellings of the amount's member in public code. The hub's own spelling is not published. */
export const AMOUNT_MEMBERS = ['value', 'Value'] as const;

/** One connection to the BI-FAST hub, as agreed with the operator of the system in front of it. */
export interface BiFastSettings extends RailSettings {
  /** BIC of the participant that sends the messages. */
  readonly bic: string;
  readonly channel: (typeof CHANNELS)[number];
  readonly purpose: (typeof PURPOSES)[number];
  /**
   * In rupiah, with two decimal places. An account enquiry has the form of a transfer, so it has an amount. No money
   * moves.
   */
  readonly enquiryAmount: string;
  readonly amountMember: (typeof AMOUNT_MEMBERS)[number];
  /** Below the base address; empty where the base address itself receives the messages. */
  readonly accountEnquiryPath: string;
  readonly paymentStatusPath: string;
  /** Null where aliases were not agreed on. */
  readonly aliases: AliasSettings | null;
}
