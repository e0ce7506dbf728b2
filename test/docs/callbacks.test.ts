import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { ATTEMPT_DELAYS_MS } from '../../apps/server/src/callbacks/retry-schedule.ts';
import { EVENT_KINDS } from '../../apps/server/src/domain/event.ts';
import { call, ENDPOINTS, register } from '../callbacks/endpoints-harness.ts';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The code on docs/callbacks.md accepts genuine callbacks and rejects forged ones, in every language. */

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
before(async () => {
  page = await readFile(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-callbacks-'));
  service = await startTestService({ rails: [] });
  receiver = await startHttpReceiver();
});
after(async () => {
  await receiver?.close();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

function snippet(language: string): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
  assert.equal(blocks.length, 1, `docs/callbacks.md has one block of ${language}`);
  return blocks[0] ?? '';
}

interface Language {
  /** The language of the code block on the page. */
  readonly name: string;
  /** Prints the version of the program that runs it; fails where that is not installed. */
  readonly version: readonly [program: string, ...args: string[]];
  /** Files of a program around the snippet: arguments secret, id, timestamp and signatures; the body as input. */
  readonly program: (code: string) => Readonly<Record<string, string>>;
  readonly run: readonly [program: string, ...args: string[]];
  /** Compiles it, where the language needs that. */
  readonly build?: readonly [program: string, ...args: string[]];
}

const LANGUAGES: readonly Language[] = [
  {
    name: 'js',
    version: [process.execPath, '--version'],
    program: (code) => ({
      'verify.mjs': `${code}
        const [secret, id, timestamp, signature] = process.argv.slice(2);
        const chunks = [];
        for await (const chunk of process.stdin) chunks.push(chunk);
        const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
        console.log(isGenuine(secret, headers, Buffer.concat(chunks)));`,
    }),
    run: [process.execPath, 'verify.mjs'],
  },
  {
    name: 'python',
    version: ['python3', '--version'],
    program: (code) => ({
      'verify.py': `${code}
import sys
secret, id, timestamp, signature = sys.argv[1:]
headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
print(str(is_genuine(secret, headers, sys.stdin.buffer.read())).lower())
`,
    }),
    run: ['python3', 'verify.py'],
  },
  {
    name: 'php',
    version: ['php', '--version'],
    program: (code) => ({
      'verify.php': `<?php
${code}
[, $secret, $id, $timestamp, $signature] = $argv;
$headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
echo isGenuine($secret, $headers, file_get_contents('php://stdin')) ? 'true' : 'false';
`,
    }),
    run: ['php', 'verify.php'],
  },
  {
    name: 'go',
    version: ['go', 'version'],
    program: (code) => ({
      'verify.go': code.replace('package callbacks', 'package main'),
      'main.go': `package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
	headers := http.Header{}
	headers.Set("webhook-id", os.Args[2])
	headers.Set("webhook-timestamp", os.Args[3])
	headers.Set("webhook-signature", os.Args[4])
	body, _ := io.ReadAll(os.Stdin)
	fmt.Println(IsGenuine(os.Args[1], headers, body))
}
`,
    }),
    build: ['go', 'build', '-o', 'verify-go', 'main.go', 'verify.go'],
    run: ['./verify-go'],
  },
  {
    name: 'java',
    version: ['javac', '-version'],
    program: (code) => ({
      'Callbacks.java': code,
      'Verify.java': `import java.util.Map;
class Verify {
    public static void main(String[] args) throws Exception {
        var headers = Map.of("webhook-id", args[1], "webhook-timestamp", args[2], "webhook-signature", args[3]);
        System.out.println(Callbacks.isGenuine(args[0], headers, System.in.readAllBytes()));
    }
}
`,
    }),
    build: ['javac', 'Callbacks.java', 'Verify.java'],
    run: ['java', 'Verify'],
  },
];

function isInstalled([program, ...args]: Language['version']): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function verdictOf({ run: [program, ...args] }: Language, message: Message): Promise<string> {
  const { secret, id, timestamp, signatures, body } = message;
  const child = spawn(program, [...args, secret, id, timestamp, signatures], { cwd: directory, timeout: 20_000 });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end(body);
  await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  return output.trim();
}

/** A message of the service. It has two signatures, because the secret was rotated. */
async function sentByService(): Promise<{ message: Message; former: string }> {
  const { endpointId, secret: former } = await register(service, { url: receiver.url });
  const rotated = await call(service, 'POST', `${ENDPOINTS}/${endpointId}/rotate-secret`);
  await call(service, 'POST', `${ENDPOINTS}/${endpointId}/test`);
  const { headers, body } = receiver.requests.at(-1) ?? assert.fail('the service sent no callback');
  const message = {
    secret: String(rotated.json.data?.['secret']),
    id: String(headers['webhook-id']),
    timestamp: String(headers['webhook-timestamp']),
    signatures: String(headers['webhook-signature']),
    body,
  };
  return { message, former };
}

/** The message, signed at another time by an independent implementation. */
function signed(message: Message, atMs: number): Message {
  const at = new Date(atMs);
  const signatures = new Webhook(message.secret).sign(message.id, at, message.body);
  return { ...message, timestamp: String(Math.floor(atMs / 1000)), signatures };
}

for (const language of LANGUAGES) {
  const skip = isInstalled(language.version) ? false : `${language.version[0]} is not installed on this machine`;
  suite(`the ${language.name} code on the page`, { skip }, () => {
    let message: Message;
    let former: string;
    before(async () => {
      for (const [name, code] of Object.entries(language.program(snippet(language.name)))) {
        await writeFile(path.join(directory, name), code);
      }
      const [program, ...args] = language.build ?? ['true'];
      await promisify(execFile)(program, args, { cwd: directory });
      ({ message, former } = await sentByService());
    });

    test('accepts a message of the service, with the new secret and the former one', async () => {
      assert.equal(message.signatures.split(' ').length, 2);
      assert.equal(await verdictOf(language, message), 'true');
      assert.equal(await verdictOf(language, { ...message, secret: former }), 'true');
      assert.equal(
        await verdictOf(language, signed({ ...message, body: '{"name":"é"}' }, Date.now() - 240_000)),
        'true',
      );
    });

    test('rejects a message that was changed, is too old, is from the future, or is not signed', async () => {
      const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
      for (const [what, forged] of Object.entries({
        body: { ...message, body: message.body.replace('endpoint.test', 'endpoint.tent') },
        id: { ...message, id: `${message.id}0` },
        timestamp: { ...message, timestamp: String(Number(message.timestamp) + 1) },
        secret: { ...message, secret: other },
        version: { ...message, signatures: message.signatures.replaceAll('v1,', 'v2,') },
        'no signature': { ...message, signatures: '' },
        'no timestamp': { ...message, timestamp: '' },
        'not a timestamp': { ...message, timestamp: 'NaN' },
        old: signed(message, Date.now() - 330_000),
        future: signed(message, Date.now() + 330_000),
      })) {
        assert.equal(await verdictOf(language, forged), 'false', what);
      }
    });
  });
}

test('the page has all five languages, also those that are not installed here', () => {
  for (const { name } of LANGUAGES)
    assert.match(snippet(name), /(?:timing|compare_digest|hash_equals|hmac\.Equal|isEqual)/);
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
