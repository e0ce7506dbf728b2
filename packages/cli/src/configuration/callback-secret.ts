import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Environment } from '../environment.ts';
import { CommandError } from '../errors.ts';
import { readPrivateJson, writePrivateJson } from './files.ts';

const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/;
const SECRET_BYTES = 32;

/**
 * With what `listen` signs: TIBA_CALLBACK_SECRET, or one that is made at its first use and stays the same, so that the
 * receiver on this machine is configured once.
 */
export function callbackSecret(environment: Environment): string {
  if (environment.callbackSecret !== null) return checked(environment.callbackSecret, 'TIBA_CALLBACK_SECRET');
  const file = path.join(environment.configurationDirectory, 'callback-secret.json');
  const stored = readPrivateJson(file);
  if (stored !== null) return checked((stored as { readonly secret?: unknown }).secret, file);
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  writePrivateJson(file, { secret });
  return secret;
}

function checked(secret: unknown, where: string): string {
  if (typeof secret === 'string' && SECRET.test(secret)) return secret;
  throw new CommandError('usage', `${where} has no secret for callbacks`, {
    advice: 'It must be a text such as whsec_…, as the service gives it for an endpoint.',
  });
}
