import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { ATTEMPT_DELAYS_MS } from '../../apps/server/src/callbacks/retry-schedule.ts';
import { secretKeyOf, sign } from '../../apps/server/src/callbacks/signature.ts';
import { EVENT_KINDS } from '../../apps/server/src/domain/event.ts';
import { call, ENDPOINTS, register } from '../callbacks/endpoints-harness.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { commandIsMissing, optionalCommandIsMissing } from '../support/required-command.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { LANGUAGES, type Language } from './verification-languages.ts';

/** The samples of docs/callbacks.md accept genuine callbacks and reject forged ones, in every language. */

const SAMPLES = new URL('../../docs/samples/verify-callback/', import.meta.url);

interface Message {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  readonly body: string;
}

let page: string;
let directory: string;
let service: TestService;
let receiver: HttpReceiver;
let message: Message;
/** The secret before the rotation. */
let former: string;
before(async () => {
  page = await readFile(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-callbacks-'));
  service = await startTestService({ rails: [] });
  receiver = await startHttpReceiver();
  ({ message, former } = await sentByService());
});
after(async () => {
  await receiver?.close();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** A message of the service. It has two signatures, because the secret was rotated. */
async function sentByService(): Promise<{ message: Message; former: string }> {
  const { endpointId, secret } = await register(service, { url: receiver.url });
  const rotated = await call(service, 'POST', `${ENDPOINTS}/${endpointId}/rotate-secret`);
  await call(service, 'POST', `${ENDPOINTS}/${endpointId}/test`);
  const { headers, body } = receiver.requests.at(-1) ?? assert.fail('the service sent no callback');
  return {
    message: {
      secret: String(rotated.json.data?.['secret']),
      id: String(headers['webhook-id']),
      timestamp: String(headers['webhook-timestamp']),
      signatures: String(headers['webhook-signature']),
      body,
    },
    former: secret,
  };
}

/** The message as the service signs it at another time. */
function signedAt(seconds: number, signed: Message = message): Message {
  const unixSeconds = Math.floor(Date.now() / 1_000) + seconds;
  const signatures = sign([secretKeyOf(signed.secret)], { ...signed, unixSeconds });
  return { ...signed, timestamp: String(unixSeconds), signatures };
}

/** Each message with what it is, and whether it is genuine. */
function messages(): (readonly [what: string, isGenuine: boolean, message: Message])[] {
  const names = { ...message, body: '{"name":"é"}' };
  const independent = new Webhook(message.secret).sign(message.id, new Date(Number(message.timestamp) * 1_000), '{}');
  return [
    ['as sent, with the new secret', true, message],
    ['as sent, with the former secret', true, { ...message, secret: former }],
    ['four minutes old', true, signedAt(-240)],
    ['with letters beyond ASCII', true, signedAt(0, names)],
    ['signed by another implementation', true, { ...message, body: '{}', signatures: independent }],
    ['altered body', false, { ...message, body: message.body.replace('endpoint.test', 'endpoint.tent') }],
    ['altered ID', false, { ...message, id: `${message.id}0` }],
    ['altered time', false, { ...message, timestamp: String(Number(message.timestamp) + 1) }],
    ['another secret', false, { ...message, secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` }],
    ['another version', false, { ...message, signatures: message.signatures.replaceAll('v1,', 'v2,') }],
    ['without a signature', false, { ...message, signatures: '' }],
    ['without a time', false, { ...message, timestamp: '' }],
    ['with a time that is none', false, { ...message, timestamp: 'NaN' }],
    ['replayed: too old', false, signedAt(-330)],
    ['from the future', false, signedAt(330)],
  ];
}

const lineOf = ({ secret, id, timestamp, signatures, body }: Message): string =>
  `${[secret, id, timestamp, signatures, Buffer.from(body).toString('base64')].join('\t')}\n`;

interface Ended {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

async function runSample({ run: [program, ...args] }: Language, cwd: string, input: string): Promise<Ended> {
  const child = spawn(program, args, { cwd, timeout: 60_000 });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.on('error', () => undefined).end(input);
  await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  return { exitCode: child.exitCode, output, errors };
}

/** A folder with the sample and its program, compiled. */
async function prepare({ name, file, program, build }: Language): Promise<string> {
  const folder = path.join(directory, name);
  await mkdir(folder);
  await copyFile(new URL(file, SAMPLES), path.join(folder, file));
  for (const [name, code] of Object.entries(program)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), code);
  }
  const [command, ...args] = build ?? ['true'];
  await promisify(execFile)(command, args, { cwd: folder });
  return folder;
}

suite('the samples verify callbacks', () => {
  for (const language of LANGUAGES) {
    const skip = (language.inCi ? commandIsMissing : optionalCommandIsMissing)(language.command);
    test(`in ${language.name}: new, former and independent signatures; not altered, old or unsigned ones`, {
      skip,
    }, async () => {
      const folder = await prepare(language);
      const all = messages();
      const { output, errors } = await runSample(language, folder, all.map(([, , each]) => lineOf(each)).join(''));
      const verdicts = output.trim().split('\n');
      const seen = all.map(([what], index) => `${what}: ${verdicts[index]}`);
      assert.deepEqual(
        seen,
        all.map(([what, isGenuine]) => `${what}: ${isGenuine}`),
        errors,
      );
      // Anyone can sign with an empty key: a secret that is not configured must not become one.
      const unset = await runSample(language, folder, lineOf({ ...message, secret: '' }));
      assert.notEqual(unset.exitCode, 0);
      assert.match(unset.errors + unset.output, /the secret is not set/);
    });
  }
});

test('the page shows each sample as it is, and each compares in constant time', async () => {
  const files = (await readdir(SAMPLES)).sort();
  assert.deepEqual(files, LANGUAGES.map(({ file }) => file).sort());
  for (const { name, file, comparison } of LANGUAGES) {
    const sample = await readFile(new URL(file, SAMPLES), 'utf8');
    const blocks = [...page.matchAll(new RegExp(`^\`\`\`${name}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code]) => code);
    assert.deepEqual(blocks, [sample], file);
    assert.ok(sample.includes(comparison), file);
  }
});

test('the page has the retry schedule and every event kind', () => {
  const units = [
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const;
  const delays = ATTEMPT_DELAYS_MS.slice(1).map((delayMs) => {
    const [ms, unit] = units.find(([ms]) => delayMs >= ms) ?? assert.fail();
    return `${delayMs / ms} ${unit}`;
  });
  assert.ok(page.includes(`at once, then after ${delays.join(', ')}`), delays.join(', '));
  for (const kind of EVENT_KINDS) assert.ok(page.includes(`\`${kind}\``), kind);
});
