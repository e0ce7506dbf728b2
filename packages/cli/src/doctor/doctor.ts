import packageJson from '../../package.json' with { type: 'json' };
import { type ChosenLogin, exposureOf } from '../configuration/profiles.ts';
import { reportOf } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { styleOf } from '../output/format.ts';
import { plain } from '../output/style.ts';
import type { Session } from '../session.ts';
import { type Finding, failed, ok, warning } from './finding.ts';
import { checkClockAndVersion, checkNames, checkTransport } from './network.ts';
import { checkLimits, checkToken } from './service.ts';

/** One check after another. What follows a failure would fail too, so it ends there. */
export async function examine(session: Session): Promise<ExitCode> {
  const { output } = session;
  let exitCode: ExitCode = EXIT.ok;
  for await (const finding of findings(session)) {
    const { check, state, message, advice } = finding;
    output.result(finding, () => {
      const painted = output.paint(styleOf(state) ?? 'bold', state.padEnd(WIDTH));
      const line = `${painted}  ${check.padEnd(WIDTH)}  ${plain(message)}`;
      return advice === null ? line : `${line}\n${' '.repeat(2 * WIDTH + 4)}${plain(advice)}`;
    });
    if (state !== 'failed') continue;
    exitCode = check === 'login' || check === 'token' ? EXIT.notLoggedIn : EXIT.error;
  }
  return exitCode;
}

const WIDTH = 'warning'.length;

async function* findings(session: Session): AsyncGenerator<Finding, void, undefined> {
  const { signal, environment } = session;
  yield ok('program', `tiba ${packageJson.version} on Node ${process.versions.node}`);
  const login = yield* chosenLogin(session);
  if (login === null) return;
  const exposure = login.source === 'profile' ? exposureOf(environment) : null;
  if (exposure !== null) yield warning('secrets', exposure, 'Then change the secret, if others use this machine.');
  const { url } = login.profile;
  for (const check of [checkNames, checkTransport, checkClockAndVersion]) {
    const found = await check(new URL(url), signal);
    yield* found;
    if (found.some(({ state }) => state === 'failed')) return;
  }
  const token = await checkToken(login.profile, signal);
  yield* token.findings;
  if (token.granted === null) return;
  yield* checkLimits(await session.connect(), token.granted.scopes, signal);
}

async function* chosenLogin(session: Session): AsyncGenerator<Finding, ChosenLogin | null, undefined> {
  try {
    const login = session.login();
    const { url, client_id: clientId } = login.profile;
    // Also refuses an address that would send the secret in the clear.
    await session.connect();
    const where = login.source === 'environment' ? 'from the environment' : `profile ${login.name}`;
    yield ok('login', `${clientId} at ${url} (${where})`);
    return login;
  } catch (error) {
    const { message, advice } = reportOf(error);
    yield failed('login', message, advice ?? 'Run `tiba login`.');
    return null;
  }
}
