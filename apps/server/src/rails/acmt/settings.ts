import type { RailSettings } from '../protocol.ts';

/** acmt.023.001.03 and acmt.023.001.04. The reports (acmt.024) have the same version numbers. */
export const VERSIONS = ['03', '04'] as const;
export type AcmtVersion = (typeof VERSIONS)[number];

/**
 * The element of the holder's name: `Pty/Nm` for the full name (EthSwitch), `Acct/Nm` for the one to display (Nexus).
 */
export const NAME_ELEMENTS = ['Pty/Nm', 'Acct/Nm'] as const;
export type NameElement = (typeof NAME_ELEMENTS)[number];

/** One connection to a scheme, as agreed between it and the operator. */
export interface AcmtSettings extends RailSettings {
  readonly version: AcmtVersion;
  /** The BIC by which the scheme knows the operator: the assigner. 8 or 11 characters. */
  readonly agentBic: string;
  /** The scheme's own identification: the assignee. Up to 35 characters. */
  readonly schemeId: string;
  /** Below the base address, with a leading slash. */
  readonly path: string;
  /** `SchmeNm/Prtry` next to the account number, such as `ACCT`; null omits it. */
  readonly accountScheme: string | null;
  readonly nameElement: NameElement;
}

export type AcmtMessage = 'acmt.023' | 'acmt.024';

export const namespaceOf = (message: AcmtMessage, version: AcmtVersion): string =>
  `urn:iso:std:iso:20022:tech:xsd:${message}.001.${version}`;
