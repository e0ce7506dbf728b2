import path from 'node:path';
import { styleText } from 'node:util';
import type { SandboxDescription } from './description.ts';

export interface BannerOptions {
  readonly descriptionFile: string;
  readonly logFile: string;
  readonly colours: boolean;
}

/** What a newcomer sees when the sandbox is ready: where it is, who may ask, and lines to paste. */
export function banner(sandbox: SandboxDescription, { descriptionFile, logFile, colours }: BannerOptions): string {
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    colours ? styleText(format, text, { validateStream: false }) : text;
  const row = (label: string, value: string): string => `  ${style('dim', label.padEnd(10))} ${value}`;
  const [shop, payroll] = sandbox.clients;
  const { success } = sandbox.transactions;
  const { active } = sandbox.accounts;
  const authorization = '-H "Authorization: Bearer $TOKEN"';

  const token = ({ client_id: id, client_secret: secret }: SandboxDescription['feed']): string =>
    `$(curl -s -u ${id}:${secret} -d grant_type=client_credentials ${sandbox.token_url} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/p;d')`;

  return `
  ${style(['bold', 'green'], 'Tiba is ready.')}  Can it arrive? Has it arrived?

${row('API', sandbox.base_url)}
${row('reference', `${sandbox.base_url}/reference`)}
${row('operator', `${sandbox.operator_url}  (feed, /livez, /readyz, /metrics)`)}

${row('client', `${shop.client_id}  ${shop.client_secret}`)}
${row('client', `${payroll.client_id}  ${payroll.client_secret}`)}
${row('feed', `${sandbox.feed.client_id}  ${sandbox.feed.client_secret}`)}

  ${style('dim', '# paste these: a token, then has it arrived (by either ID), then can it arrive')}
TOKEN=${token(shop)}
curl ${authorization} ${sandbox.base_url}/api/v1/check-status/${success.transaction_id}
curl ${authorization} "${sandbox.base_url}/api/v1/check-status?reference_id=${encodeURIComponent(success.reference_id)}"
curl ${authorization} -H "Content-Type: application/json" -d '${JSON.stringify(active)}' ${sandbox.base_url}/api/v1/check-account

  ${style('dim', '# a disbursement that the simulated bank carries out: ask for it with -H "Prefer: wait=30"')}
CORE=${token(sandbox.feed)}
curl -H "Authorization: Bearer $CORE" -H "Content-Type: application/json" -d '{"account_number":"1234567890"}' ${sandbox.operator_url}/sandbox/v1/disbursements

  ${style('dim', `All of this for programs: ${relative(descriptionFile)}   Log: ${relative(logFile)}   Stop: Ctrl-C`)}
`;
}

const relative = (file: string): string => path.relative('', file) || file;
