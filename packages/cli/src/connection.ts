import type { TibaClient } from '../../client/src/index.ts';
import type { ChosenLogin } from './configuration/profiles.ts';
import { CommandError } from './errors.ts';

/** A client of the service, and what its answers carry in their headers. */
export interface Connection {
  readonly client: TibaClient;
  readonly login: ChosenLogin;
  /** Called with each answer of the service, of any status. */
  onAnswer: (answer: Response) => void;
}

/** A person waits: after this many repetitions they want to know what is wrong. */
const RETRIES_MAX = 2;

/** Loads the client and makes one for a login. @throws CommandError when the address of the login is none */
export async function openConnection(login: ChosenLogin): Promise<Connection> {
  const { createTibaClient } = await import('../../client/src/index.ts');
  const { url, client_id: clientId, client_secret: clientSecret, allow_plain_http: allowPlainHttp } = login.profile;
  const answers: Pick<Connection, 'onAnswer'> = { onAnswer: () => undefined };
  try {
    const client = createTibaClient({
      baseUrl: url,
      clientId,
      clientSecret,
      allowPlainHttp: allowPlainHttp === true,
      retriesMax: RETRIES_MAX,
      async fetch(input, init) {
        const answer = await fetch(input, init);
        answers.onAnswer(answer);
        return answer;
      },
    });
    return Object.assign(answers, { client, login });
  } catch (cause) {
    throw new CommandError('usage', `${url}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      advice: 'Log in again with the address of the service, such as https://tiba.example.com.',
      cause,
    });
  }
}
