import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CommandError } from './errors.ts';
import { onlyLineOf } from './text-file.ts';

/** What the program reads of its environment. Only this file reads it. */
export interface Environment {
  /** The folder of profiles and secrets: `tiba` in XDG_CONFIG_HOME. */
  readonly configurationDirectory: string;
  /** The folder of what `listen` remembers: `tiba` in XDG_STATE_HOME. */
  readonly stateDirectory: string;
  /** TIBA_PROFILE. */
  readonly profile: string | null;
  /** A login that is given as a whole by the environment; it comes before the stored ones. */
  readonly login: EnvironmentLogin | null;
  /** TIBA_DATA_DIR: the data directory of a sandbox on this machine. */
  readonly sandboxDirectory: string;
  /** TIBA_CALLBACK_SECRET: with what `listen` signs. */
  readonly callbackSecret: string | null;
}

export interface EnvironmentLogin {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly allowPlainHttp: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws CommandError when a login is given in part, or a file cannot be read */
export function readEnvironment(variables: Variables = process.env): Environment {
  const folder = (name: string, fallback: string): string => {
    const given = variables[name];
    // The XDG specification: a relative path is ignored.
    const base = given !== undefined && path.isAbsolute(given) ? given : path.join(homedir(), fallback);
    return path.join(base, 'tiba');
  };
  return {
    configurationDirectory: folder('XDG_CONFIG_HOME', '.config'),
    stateDirectory: folder('XDG_STATE_HOME', '.local/state'),
    profile: variables['TIBA_PROFILE'] || null,
    sandboxDirectory: variables['TIBA_DATA_DIR'] || '.tiba',
    login: readLogin(variables),
    callbackSecret: readVariable(variables, 'TIBA_CALLBACK_SECRET'),
  };
}

const LOGIN_VARIABLES = ['TIBA_URL', 'TIBA_CLIENT_ID', 'TIBA_CLIENT_SECRET'] as const;

function readLogin(variables: Variables): EnvironmentLogin | null {
  const given = LOGIN_VARIABLES.map((name) => readVariable(variables, name));
  const missing = LOGIN_VARIABLES.filter((_, index) => given[index] === null);
  if (missing.length === LOGIN_VARIABLES.length) return null;
  const [url, clientId, clientSecret] = given;
  if (!url || !clientId || !clientSecret) {
    // A stored secret must not be sent to another address.
    throw new CommandError('notLoggedIn', `${missing.join(' and ')} missing in the environment`, {
      advice: `Set ${LOGIN_VARIABLES.join(', ')} (or each with _FILE), or none of them.`,
    });
  }
  return { url, clientId, clientSecret, allowPlainHttp: variables['TIBA_ALLOW_PLAIN_HTTP'] === 'true' };
}

/** A variable, or the content of the file that `NAME_FILE` names. */
function readVariable(variables: Variables, name: string): string | null {
  const value = variables[name] || null;
  const file = variables[`${name}_FILE`] || null;
  if (file === null) return value;
  if (value !== null) {
    throw new CommandError('usage', `${name} and ${name}_FILE are both set`, { advice: 'Set one of them.' });
  }
  try {
    return onlyLineOf(readFileSync(file, 'utf8')) || null;
  } catch (cause) {
    throw new CommandError('error', `the file of ${name}_FILE cannot be read: ${file}`, {
      advice: 'Correct the path, or the permissions of the file.',
      cause,
    });
  }
}
