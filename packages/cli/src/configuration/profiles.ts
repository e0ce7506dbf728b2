import path from 'node:path';
import type { Environment } from '../environment.ts';
import { CommandError } from '../errors.ts';
import { isExposed, readPrivateJson, writePrivateJson } from './files.ts';

/** A stored login: one service with one client ID. */
export interface Profile {
  readonly url: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** The service may be reached without TLS at another machine. */
  readonly allow_plain_http?: boolean | undefined;
}

/** The content of `profiles.json`. */
export interface Profiles {
  /** The profile of commands that name none. */
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

/** The login that a command uses. */
export interface ChosenLogin {
  /** The profile's name; `environment` for a login that the environment gives. */
  readonly name: string;
  readonly source: 'profile' | 'environment';
  readonly profile: Profile;
}

export const DEFAULT_PROFILE = 'default';
const ENVIRONMENT_NAME = 'environment';

export const profilesFile = ({ configurationDirectory }: Environment): string =>
  path.join(configurationDirectory, 'profiles.json');

export function readProfiles(environment: Environment): Profiles {
  const file = profilesFile(environment);
  const content = readPrivateJson(file) ?? { current: null, profiles: {} };
  if (!isProfiles(content)) {
    throw new CommandError('error', `${file} is not a file of profiles`, {
      advice: 'Delete it, and log in again with `tiba login`.',
    });
  }
  return content;
}

export const writeProfiles = (environment: Environment, profiles: Profiles): void =>
  writePrivateJson(profilesFile(environment), profiles);

/** Stores a login, and makes it the current one. */
export function saveProfile(environment: Environment, name: string, profile: Profile): void {
  const { profiles } = readProfiles(environment);
  writeProfiles(environment, { current: name, profiles: { ...profiles, [name]: profile } });
}

/**
 * The login of a command: the profile that it names, a login in the environment, or the current profile.
 * @throws CommandError with exit code 4 when there is none
 */
export function chooseLogin(environment: Environment, named: string | null): ChosenLogin {
  const { login } = environment;
  if (named === null && login !== null) {
    const { url, clientId, clientSecret, allowPlainHttp } = login;
    const profile = { url, client_id: clientId, client_secret: clientSecret, allow_plain_http: allowPlainHttp };
    return { name: ENVIRONMENT_NAME, source: 'environment', profile };
  }
  const { current, profiles } = readProfiles(environment);
  const name = named ?? environment.profile ?? current;
  if (name === null) {
    throw new CommandError('notLoggedIn', 'you are not logged in', {
      advice: 'Run `tiba login`, or set TIBA_URL, TIBA_CLIENT_ID and TIBA_CLIENT_SECRET.',
    });
  }
  return { name, source: 'profile', profile: profileNamed(profiles, name) };
}

/** @throws CommandError with exit code 4 when there is no such profile */
export function profileNamed(profiles: Profiles['profiles'], name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(profiles);
  throw new CommandError('notLoggedIn', `there is no profile ${name}`, {
    advice: `${names.length === 0 ? '' : `There are: ${names.join(', ')}. `}Run \`tiba login --profile ${name}\`.`,
  });
}

/** Why commands use another login than the stored one of this name; null when the environment has none. */
export const environmentComesFirst = ({ login }: Environment, name: string): string | null =>
  login === null
    ? null
    : `TIBA_URL, TIBA_CLIENT_ID and TIBA_CLIENT_SECRET come before a stored login, so commands use ${login.url}: ` +
      `unset them, or give each command --profile ${name}`;

/** What is wrong with the file's permissions; null when nothing is. */
export const exposureOf = (environment: Environment): string | null => {
  const file = profilesFile(environment);
  return isExposed(file) ? `other users of this machine can read your secrets: run chmod 600 ${file}` : null;
};

function isProfiles(content: unknown): content is Profiles {
  if (typeof content !== 'object' || content === null) return false;
  const { current, profiles } = content as Record<string, unknown>;
  if ((typeof current !== 'string' && current !== null) || typeof profiles !== 'object' || profiles === null) {
    return false;
  }
  return Object.values(profiles).every((each: unknown) => {
    const fields = (each ?? {}) as Record<string, unknown>;
    return ['url', 'client_id', 'client_secret'].every((name) => typeof fields[name] === 'string');
  });
}
