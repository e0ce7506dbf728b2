import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { type Cli, createCli, documentsOf, loginOf, MAIN } from './cli-process.ts';

let service: TestService;
let cli: Cli;
before(async () => {
  service = await startTestService();
  cli = await createCli();
});
after(async () => {
  await cli?.remove();
  await service?.close();
});

const loginArguments = (profile: string): string[] => [
  'login',
  '--profile',
  profile,
  '--url',
  service.url,
  '--client-id',
  'alpha',
  '--secret-stdin',
];
const profilesFile = (): string => path.join(cli.home, 'config/tiba/profiles.json');

suite('a login', () => {
  test('without one, a command ends with 4 and says how to get one', async () => {
    const { code, stdout, stderr } = await cli.run(['status', 'INV/1']);
    assert.deepEqual([code, stdout], [4, '']);
    assert.match(stderr, /^error: you are not logged in\nRun `tiba login`/);
  });

  test('is refused with a wrong secret, and nothing is stored', async () => {
    const { code, stderr } = await cli.run(loginArguments('wrong'), 'not-the-secret\n');
    assert.equal(code, 4);
    assert.match(stderr, /LOGIN_FAILED/);
    assert.doesNotMatch(stderr, /not-the-secret/);
    await assert.rejects(readFile(profilesFile()));
  });

  test('is stored where only this user can read it, and used by the next command', async () => {
    const { code, stdout, stderr } = await cli.run(loginArguments('main'), `${service.alpha.clientSecret}\n`);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(stdout, /Logged in to .* as alpha: this is the profile main now\.\nScopes: .*status:read/);
    assert.equal((await stat(profilesFile())).mode & 0o777, 0o600);
    assert.equal((await stat(path.dirname(profilesFile()))).mode & 0o777, 0o700);
    // No temporary file with the secret is left.
    assert.deepEqual(await readdir(path.dirname(profilesFile())), ['profiles.json']);
    assert.equal((await cli.run(['check', 'BCA', '1234567890'])).code, 0);
  });

  test('several: the last one is current, --profile and --use choose another, secrets are not printed', async () => {
    await cli.run(loginArguments('second'), `\uFEFF${service.alpha.clientSecret}\r\n`);
    const listed = await cli.run(['profiles', '--json']);
    assert.deepEqual(
      documentsOf(listed).map(({ profile, current }) => [profile, current].join(' ')),
      ['main false', 'second true'],
    );
    assert.ok(!listed.stdout.includes(service.alpha.clientSecret));
    assert.equal((await cli.run(['profiles', '--use', 'main'])).code, 0);
    assert.match((await cli.run(['profiles'])).stdout, /^\* +main/m);
    const unknown = await cli.run(['check', 'BCA', '1234567890', '--profile', 'none']);
    assert.equal(unknown.code, 4);
    assert.match(unknown.stderr, /there is no profile none\nThere are: main, second/);
  });

  test('is chosen by TIBA_PROFILE too, and --profile comes before it', async () => {
    const { HOME, XDG_CONFIG_HOME } = cli.environment;
    const other = await createCli({ HOME: HOME ?? '', XDG_CONFIG_HOME: XDG_CONFIG_HOME ?? '', TIBA_PROFILE: 'none' });
    try {
      const unknown = await other.run(['check', 'BCA', '1234567890']);
      assert.equal(unknown.code, 4);
      assert.match(unknown.stderr, /there is no profile none\nThere are: main, second/);
      assert.equal((await other.run(['check', 'BCA', '1234567890', '--profile', 'second'])).code, 0);
    } finally {
      await other.remove();
    }
  });

  test('that other users can read is warned of', async () => {
    await chmod(profilesFile(), 0o644);
    const { code, stderr } = await cli.run(['check', 'BCA', '1234567890']);
    assert.equal(code, 0);
    assert.match(stderr, /other users of this machine can read your secrets: run chmod 600/);
    await chmod(profilesFile(), 0o600);
  });

  test('in the environment comes first; the secret may be in a file; a part of it is refused', async () => {
    const { TIBA_CLIENT_SECRET: secret = '', ...rest } = loginOf(service);
    const file = path.join(cli.home, 'secret');
    // As Notepad saves it.
    await writeFile(file, `\uFEFF${secret}\r\n`);
    const other = await createCli({ ...rest, TIBA_CLIENT_SECRET_FILE: file });
    const partial = await createCli({ TIBA_URL: service.url });
    try {
      assert.equal((await other.run(['check', 'BCA', '1234567890'])).code, 0);
      const { TIBA_URL: url = '', TIBA_CLIENT_ID: id = '' } = rest;
      const stored = await other.run(['login', '--url', url, '--client-id', id, '--secret-stdin'], secret);
      const warning = `come before a stored login, so commands use ${url}: unset them, or give each command --profile`;
      assert.ok(stored.stderr.includes(`${warning} default`), stored.stderr);
      const chosen = await other.run(['profiles', '--use', 'default']);
      assert.ok(chosen.stderr.includes(`${warning} default`), chosen.stderr);
      const { code, stderr } = await partial.run(['check', 'BCA', '1234567890']);
      assert.equal(code, 4);
      assert.match(stderr, /TIBA_CLIENT_ID and TIBA_CLIENT_SECRET missing/);
    } finally {
      await other.remove();
      await partial.remove();
    }
  });

  // Regression: the messages spoke of baseUrl, and an address without the API was only "No such route".
  test('with a wrong address: the message is for a command line, and says what to look at', async (context) => {
    const { url } = await startHttpReceiver({ context, respond: (response) => void response.destroy() });
    // The operator listener logs clients in, and has none of their operations.
    const operator = await createCli({ ...loginOf(service), TIBA_URL: service.operatorUrl });
    const broken = await createCli({ ...loginOf(service), TIBA_URL: url });
    context.after(() => Promise.all([operator.remove(), broken.remove()]));
    const elsewhere = await operator.run(['check', 'BCA', '1234567890']);
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.stderr, /NOT_FOUND: .+\nCheck the address of the service with `tiba profiles`/);
    const { code, stderr } = await broken.run(['check', 'BCA', '1234567890']);
    assert.equal(code, 1);
    assert.match(stderr, /^error: CONNECTION_FAILED: there is no connection to the service\n.+`tiba doctor`/);
  });

  test('is never sent without TLS to another machine', async () => {
    const { code, stderr } = await cli.run(
      ['login', '--url', 'http://tiba.example.com', '--client-id', 'alpha', '--secret-stdin'],
      'secret',
    );
    assert.equal(code, 2);
    assert.match(stderr, /must begin with https:/);
  });

  test('logout deletes it', async () => {
    assert.equal((await cli.run(['logout'])).code, 0);
    assert.equal((await cli.run(['logout', '--profile', 'second'])).code, 0);
    assert.ok(!(await readFile(profilesFile(), 'utf8')).includes(service.alpha.clientSecret));
    assert.equal((await cli.run(['status', 'INV/1'])).code, 4);
  });
});

// Regression: it ended with Node's warning of an unsettled await, and with 13.
test('Ctrl-D at a question cancels a login', { skip: commandIsMissing('script') }, async (t) => {
  const command = [process.execPath, MAIN, 'login'].map((word) => `'${word}'`).join(' ');
  const inWindow = `stty cols 80 rows 24; exec ${command}`;
  const terminal = spawn('script', ['--quiet', '--return', '--command', inWindow, '/dev/null'], {
    env: { ...INHERITED, ...cli.environment },
  });
  t.after(() => terminal.kill('SIGKILL'));
  let output = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually('the first question is asked', () => output.includes('Address of the service'));
  terminal.stdin.write('\u0004');
  const [code] = await once(terminal, 'close');
  assert.match(output, /the login was cancelled; nothing was stored/);
  assert.equal(code, 130);
});
