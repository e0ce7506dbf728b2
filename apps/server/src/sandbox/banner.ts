import path from 'node:path';
import { styleText } from 'node:util';
import type { SandboxDescription } from './description.ts';

export interface BannerOptions {
  readonly descriptionFile: string;
  readonly logFile: string;
  readonly colors: boolean;
}

const JSON_BODY = '-H "Content-Type: application/json"';
/** Prints the access token out of the token endpoint's JSON, with no tool beyond sed. */
const EXTRACT_TOKEN = `sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/p;d'`;

/** The terminal's text when the sandbox is ready: addresses, credentials, and commands to paste. */
export function banner(sandbox: SandboxDescription, { descriptionFile, logFile, colors }: BannerOptions): string {
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    colors ? styleText(format, text, { validateStream: false }) : text;
  const row = (label: string, value: string): string => `  ${style('dim', label.padEnd(12))} ${value}`;
  const comment = (text: string): string => `  ${style('dim', `# ${text}`)}`;
  const [shop, payroll] = sandbox.clients;
  const { success } = sandbox.transactions;
  const { active } = sandbox.accounts;
  const disbursement = { account_number: active.account_number };
  const disbursementsUrl = `${sandbox.operator_url}/sandbox/v1/disbursements`;
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  const credentials = ({ client_id: id, client_secret: secret }: SandboxDescription['feed']): string =>
    `${id}  ${secret}`;

  const token = ({ client_id: id, client_secret: secret }: SandboxDescription['feed']): string =>
    `$(curl -s -u ${id}:${secret} -d grant_type=client_credentials ${sandbox.token_url} | ${EXTRACT_TOKEN})`;

  const { snap } = sandbox;
  const snapKeyFile = relative(path.join(path.dirname(descriptionFile), snap.private_key_file));
  const sign = `openssl dgst -sha256 -sign ${snapKeyFile} | openssl base64 -A`;
  const tokenRequest = `-d '{"grantType":"client_credentials"}' ${snap.base_url}/v1.0/access-token/b2b`;
  const snapHeaders = [
    `X-CLIENT-KEY: ${snap.client_key}`,
    'X-TIMESTAMP: $SNAP_TIME',
    'X-SIGNATURE: $SNAP_SIGNATURE',
  ].map((header) => `-H "${header}"`);

  return `
  ${style(['bold', 'green'], 'Tiba is ready.')}  A sandbox with a simulated bank and demo data: no real money moves.

${row('API', sandbox.base_url)}
${row('reference', `${sandbox.base_url}/reference`)}
${row('SNAP', snap.base_url)}
${row('console', sandbox.console_url)}
${row('', '(logs you in once, within 15 minutes; another link: npm run manage -- session link)')}
${row('operator API', `${sandbox.operator_url}  (feed, /livez, /readyz, /metrics)`)}

${row('client', credentials(shop))}
${row('client', credentials(payroll))}
${row('feed client', credentials(sandbox.feed))}

${comment('Paste these commands: get a token, check a status (by transaction ID, by reference ID), check an account.')}
TOKEN=${token(shop)}
curl ${authorization} ${sandbox.base_url}/api/v1/check-status/${success.transaction_id}
curl ${authorization} "${sandbox.base_url}/api/v1/check-status?reference_id=${encodeURIComponent(success.reference_id)}"
curl ${authorization} ${JSON_BODY} -d '${JSON.stringify(active)}' ${sandbox.base_url}/api/v1/check-account

${comment('Create a disbursement at the simulated bank, then check its status with -H "Prefer: wait=30".')}
CORE=${token(sandbox.feed)}
curl -H "Authorization: Bearer $CORE" ${JSON_BODY} -d '${JSON.stringify(disbursement)}' ${disbursementsUrl}

${comment('SNAP: sign a token request with OpenSSL (docs/snap-clients.md goes on from there).')}
SNAP_TIME=$(date -u +%Y-%m-%dT%H:%M:%SZ)
SNAP_SIGNATURE=$(printf %s "${snap.client_key}|$SNAP_TIME" | ${sign})
curl ${snapHeaders.join(' ')} ${JSON_BODY} ${tokenRequest}

  ${style('dim', `The same as JSON: ${relative(descriptionFile)}   Log: ${relative(logFile)}   Stop: Ctrl-C`)}
`;
}

const relative = (file: string): string => path.relative('', file) || file;
