import type { RailSettings } from '../protocol.ts';

/** One connection, as agreed between the bank and the operator. */
export interface TemplateSettings extends RailSettings {
  // Yours: a member for each thing that the bank and the operator agree on.
  /** Printable ASCII. Sent with every request. */
  readonly apiKey: string;
}
