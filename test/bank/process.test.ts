import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { rsaKeys } from '../support/rsa-keys.ts';
import { BANK_MAIN, bankEnvironment, forkBank, waitUntilClosed } from './bank-process.ts';
import { createPartner, INTERNAL_PATH, partnerSettings } from './partner.ts';

const keys = rsaKeys();
const started: number[] = [];

// A bank process that outlives its test would keep the port in use, and this test file running.
after(() => {
  for (const pid of started) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already exited, as it should.
    }
  }
});

function spawnBank(changes: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(process.execPath, [BANK_MAIN], { env: { ...bankEnvironment(keys), ...changes } });
  remember(child.pid);
  return child;
}

function remember(pid: number | undefined): void {
  if (pid !== undefined) started.push(pid);
}

/** Exit code (or signal) and everything printed. */
async function exitOf(child: ChildProcess): Promise<{ code: unknown; stdout: string; stderr: string }> {
  assert.ok(child.stdout !== null && child.stderr !== null);
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'exit', { signal: AbortSignal.timeout(20_000) }),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code: code ?? signal, stdout, stderr };
}

/** Sends a request that the bank never answers; resolves once the bank has received it. */
async function leaveUnanswered(baseUrl: string): Promise<void> {
  const partner = createPartner(baseUrl, partnerSettings(keys), keys);
  await partner.authorize();
  partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010504' }).catch(() => {});
  await partner.send(INTERNAL_PATH, { beneficiaryAccountNo: '8888010001' });
}

describe('the bank as a process', () => {
  for (const [name, value] of Object.entries({
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://localhost/tiba',
    TIBA_RAILS_FILE: 'rails.json',
  })) {
    it(`refuses to start next to ${name}=${value} with exit code 1`, async () => {
      const { code, stdout, stderr } = await exitOf(spawnBank({ [name]: value }));
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, new RegExp(`^The simulated bank refuses to start .*\\(${name}\\).*\\n$`));
    });
  }

  it('lists every fault of its settings and exits with code 1', async () => {
    const { code, stderr } = await exitOf(spawnBank({ BANK_CLIENT_KEY: '', BANK_PORT: 'http' }));
    assert.equal(code, 1);
    assert.match(stderr, /^BANK_PORT must be .*\nBANK_CLIENT_KEY is missing\.\n$/);
  });

  it('reports a port that is in use and exits with code 1', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    const address = occupant.address();
    assert.ok(address !== null && typeof address === 'object');
    const { code, stderr } = await exitOf(spawnBank({ BANK_PORT: String(address.port) }));
    occupant.close();
    assert.equal(code, 1);
    assert.match(stderr, /^The simulated bank cannot listen on BANK_HOST and BANK_PORT: .*EADDRINUSE/);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`started from a shell, prints its address in one line and exits with 0 on ${signal}, with an unanswered request`, async () => {
      const child = spawnBank();
      const ended = exitOf(child);
      assert.ok(child.stdout !== null);
      const [line] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
      const [, baseUrl] = /^The simulated bank listens on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(String(line)) ?? [];
      assert.ok(baseUrl !== undefined);
      await leaveUnanswered(baseUrl);
      child.kill(signal);
      const { code, stderr } = await ended;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    });
  }

  it('forked, sends its address over IPC, prints nothing, and exits with 0 when the parent disconnects', async () => {
    const { child, baseUrl } = await forkBank(keys);
    remember(child.pid);
    const ended = exitOf(child);
    await leaveUnanswered(baseUrl);
    child.disconnect();
    assert.deepEqual(await ended, { code: 0, stdout: '', stderr: '' });
    await waitUntilClosed(baseUrl);
  });

  it('forked, exits with 0 on SIGTERM', async () => {
    const { child } = await forkBank(keys);
    remember(child.pid);
    const ended = exitOf(child);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, { code: 0, stdout: '', stderr: '' });
  });

  it('does not outlive a parent that is killed, with an unanswered request', async () => {
    const { parent, bankPid, baseUrl } = await spawnParentWithBank();
    remember(bankPid);
    await leaveUnanswered(baseUrl);
    const ended = once(parent, 'exit');
    parent.kill('SIGKILL');
    await ended;
    await waitUntilClosed(baseUrl);
  });

  it('does not outlive a parent that is killed while the bank starts', async () => {
    const parent = spawnParent(`
      process.stdout.write(String(fork(${JSON.stringify(BANK_MAIN)}, { execArgv: [] }).pid));
    `);
    const [bankPid] = await once(parent.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
    remember(Number(String(bankPid)));
    parent.kill('SIGKILL');
    // The bank has inherited the pipe: it closes when the last of the two has ended.
    await once(parent.stdout, 'close', { signal: AbortSignal.timeout(20_000) });
  });
});

/** A process that runs a script in which `fork` is imported. */
function spawnParent(script: string) {
  const code = `import { fork } from 'node:child_process'; ${script}`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
    env: bankEnvironment(keys),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  remember(parent.pid);
  return parent;
}

/** A parent that forks the bank and forwards its ready message with its process id. */
async function spawnParentWithBank() {
  const parent = spawnParent(`
    const bank = fork(${JSON.stringify(BANK_MAIN)}, { execArgv: [] });
    bank.on('message', ({ baseUrl }) => process.stdout.write(JSON.stringify({ bankPid: bank.pid, baseUrl })));
  `);
  const [line] = await once(parent.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
  const { bankPid, baseUrl }: { bankPid: number; baseUrl: string } = JSON.parse(String(line));
  return { parent, bankPid, baseUrl };
}
