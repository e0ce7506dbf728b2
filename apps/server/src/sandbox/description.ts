import { TOKEN_LIFETIME_MAX_SECONDS } from '../app/postgres.ts';
import type { App } from '../app/start-app.ts';
import { DEMO_ACCOUNTS, DEMO_CLIENTS, DEMO_TRANSACTIONS } from './demo-data.ts';
import type { SandboxClientSecrets } from './secrets.ts';

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
  readonly token_url: string;
  readonly clients: readonly [Credentials, Credentials];
  readonly feed: Credentials;
  readonly transactions: typeof DEMO_TRANSACTIONS;
  readonly accounts: typeof DEMO_ACCOUNTS;
}

export async function describeSandbox(app: App, secrets: SandboxClientSecrets): Promise<SandboxDescription> {
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
    token_url: `${app.publicUrl}/oauth/token`,
    clients: [await credentials('shop'), await credentials('payroll')],
    feed: await credentials('core'),
    transactions: DEMO_TRANSACTIONS,
    accounts: DEMO_ACCOUNTS,
  };
}
