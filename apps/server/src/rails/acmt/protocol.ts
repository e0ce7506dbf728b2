import { Type } from 'typebox';
import { defineProtocol } from '../protocol.ts';
import { createAcmtRail } from './acmt-rail.ts';
import { type AcmtSettings, NAME_ELEMENTS, VERSIONS } from './settings.ts';

/** Max35Text of ISO 20022, in printable ASCII without leading or trailing spaces. */
const Max35 = Type.String({ pattern: '^[!-~](?:[ -~]{0,33}[!-~])?$' });

export const ACMT = defineProtocol({
  name: 'acmt',
  fields: {
    version: Type.Enum([...VERSIONS]),
    // BICFIDec2014Identifier. The operator's own BIC need not be in the bank directory.
    agent_bic: Type.String({ pattern: '^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$' }),
    scheme_id: Max35,
    path: Type.String({ pattern: '^/[A-Za-z0-9._~/-]{0,200}$' }),
    account_scheme: Type.Optional(Max35),
    name_element: Type.Enum([...NAME_ELEMENTS]),
  },
  read: (entry, common): AcmtSettings => ({
    ...common,
    version: entry.version,
    agentBic: entry.agent_bic,
    schemeId: entry.scheme_id,
    path: entry.path,
    accountScheme: entry.account_scheme ?? null,
    nameElement: entry.name_element,
  }),
  open: createAcmtRail,
});
