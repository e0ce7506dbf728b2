import { TOKEN_LIFETIME_MAX_SECONDS } from '../app/postgres.ts';
import type { App } from '../app/start-app.ts';
import { createLoginLink } from '../auth/login-links.ts';
import { DEMO_ACCOUNTS, DEMO_CLIENTS, DEMO_TRANSACTIONS } from './demo-data.ts';
import type { SandboxClientSecrets, SandboxSecrets } from './secrets.ts';

interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
  /** Valid for 24 hours. */
  readonly access_token: string;
}

/** The content of `sandbox.json`: how programs reach the running sandbox. */
export interface SandboxDescription {
  readonly base_url: string;
  readonly operator_url: string;
  /** Logs the first person in, once, within 15 minutes, and leads to the console. */
  readonly console_url: string;
  readonly token_url: string;
  readonly clients: readonly [Credentials, Credentials];
  readonly feed: Credentials;
  /** How the first of the clients speaks SNAP. */
  readonly snap: {
    readonly base_url: string;
    /** Its X-CLIENT-KEY, and its X-PARTNER-ID too. */
    readonly client_key: string;
    readonly secret: string;
    /** PEM, in the folder of this file. */
    readonly private_key_file: string;
  };
  readonly transactions: typeof DEMO_TRANSACTIONS;
  readonly accounts: typeof DEMO_ACCOUNTS;
}

const SANDBOX_PERSON = { subject: 'sandbox', name: 'Sandbox Operator', role: 'approver' } as const;

/** The file with the private key of the demo client's SNAP signatures, for OpenSSL. */
export const SNAP_PRIVATE_KEY_FILE = 'snap-private-key.pem';

export async function describeSandbox(
  app: App,
  { clients: secrets, snap }: SandboxSecrets,
): Promise<SandboxDescription> {
  const credentials = async (key: keyof SandboxClientSecrets): Promise<Credentials> => {
    const { clientId } = DEMO_CLIENTS[key];
    const client = app.clients.find(clientId);
    if (client === undefined) throw new Error(`client ${clientId} does not exist`);
    return {
      client_id: clientId,
      client_secret: secrets[key],
      access_token: await app.issue(client, [...client.scopes], TOKEN_LIFETIME_MAX_SECONDS),
    };
  };
  return {
    base_url: app.publicUrl,
    operator_url: app.operatorUrl,
    console_url: await createLoginLink(app.database, app.operatorUrl, SANDBOX_PERSON),
    token_url: `${app.publicUrl}/oauth/token`,
    clients: [await credentials('shop'), await credentials('payroll')],
    feed: await credentials('core'),
    snap: {
      base_url: app.snapUrl ?? '',
      client_key: DEMO_CLIENTS.shop.clientId,
      secret: snap.secret,
      private_key_file: SNAP_PRIVATE_KEY_FILE,
    },
    transactions: DEMO_TRANSACTIONS,
    accounts: DEMO_ACCOUNTS,
  };
}
