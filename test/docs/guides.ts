import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findFreePort } from '../sandbox/production-settings.ts';
import { eventually } from '../support/eventually.ts';
import { commandIsMissing } from '../support/required-command.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { blocksOf, openTerminal, type PastedBlock, pastedBlocks, type RunningTerminal, runOn } from './terminals.ts';

const docs = new URL('../../docs/', import.meta.url);
const MAIN = fileURLToPath(new URL('../packages/cli/src/main.ts', docs));

/** What `npm start` has started. */
interface Running {
  readonly sandbox: Sandbox;
  readonly dataDirectory: string;
}

/** What a command that does not end prints when it is ready. */
const READY: Readonly<Record<string, RegExp>> = {
  'receiver.mjs': /^receiver is ready$/m,
  'tiba listen': /^connected to /m,
};

/** What each sample prints, with the reference of the start's payment as its argument. */
const PRINTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'validate.mjs': ['pay', 'refuse: another holder', 'refuse: the account is NOT_FOUND'],
  'wait.mjs': ['SUCCESS 150000.00 null'],
  'errors.mjs': ['not known here, yet: compare the ID, and do not pay again before you know why'],
  'limits.mjs': [
    'INV/2026/001 SUCCESS',
    'INV/2026/002 FAILED',
    'INV/2025/0 TRANSACTION_NOT_FOUND',
    '"check-status";q=120;w=60',
  ],
  'bulk.mjs': ['employee 1 ACTIVE', 'employee 2 NOT_FOUND'],
  // It continues after the last event of its first run.
  'events.mjs': ['1 disbursement.succeeded INV/2026/001', /^\d+ disbursement\.succeeded first-payment$/],
  'events.mjs?again': [],
};
/** Run by a page, by another sample, or in a way of their own. */
const OTHERS = ['receiver-test.mjs', 'receiver.mjs', 'tiba.mjs'];

/** Runs samples one after the other: a process for each would take most of the time. */
const RUN_ALL = `for (const sample of ${JSON.stringify(Object.keys(PRINTED))}) {
  console.log('# ' + sample);
  await import(process.cwd() + '/' + sample);
}`;

interface Reader {
  /** What a command that does not end has printed. */
  printedBy(command: keyof typeof READY): string;
  /** Pastes the commands of a guide, but for its first `skipped` blocks; returns what they have printed. */
  paste(guide: string, skipped?: number): Promise<string>;
  /** Runs Node in the shop's folder; returns what it has printed. */
  runNode(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** A reader with an own home directory, whose sandbox runs already. */
async function openReader({ sandbox, dataDirectory }: Running): Promise<Reader> {
  const { base_url: url, clients } = sandbox.description;
  const home = await mkdtemp(path.join(tmpdir(), 'tiba-guides-'));
  const port = String(await findFreePort());
  // Nothing of the start comes from the registry, and npm must not ask there.
  const npm = { npm_config_offline: 'true', npm_config_cache: path.join(home, 'npm') };
  const environment = { ...INHERITED, ...npm, HOME: home, TIBA_DATA_DIR: dataDirectory, PORT: port };
  const terminal = openTerminal(environment, home);
  const running = new Map<string, RunningTerminal>();
  // As `npm ci` has linked it into node_modules/.bin.
  await mkdir(path.join(home, 'bin'));
  await symlink(MAIN, path.join(home, 'bin/tiba'));
  await symlink(process.execPath, path.join(home, 'bin/node'));
  // The ports may be in use on this machine.
  const here = (commands: string): string =>
    commands
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('localhost:9000', `localhost:${port}`)
      .replaceAll('.tiba/', `${dataDirectory}/`)
      .replaceAll('$PWD/node_modules/.bin', path.join(home, 'bin'));

  async function leaveRunning({ commands, needsLogin }: PastedBlock): Promise<void> {
    const [, login] = await blocksIn('start');
    const pasted = `${needsLogin ? login?.commands : ''}${commands}`;
    const [command, ready] = Object.entries(READY).find(([each]) => commands.includes(each)) ?? assert.fail(commands);
    running.set(command, await runOn(here(pasted), environment, ready));
  }

  return {
    printedBy: (command) => running.get(command)?.printed() ?? '',
    async paste(guide, skipped = 0) {
      let output = '';
      for (const block of (await blocksIn(guide)).slice(skipped)) {
        pastedBlocks.add(block.commands);
        if (block.runsOn) await leaveRunning(block);
        else output += await terminal.paste(here(block.commands));
      }
      return output;
    },
    async runNode(...args) {
      const [{ client_id: id, client_secret: secret }] = clients;
      const login = { TIBA_URL: url, TIBA_CLIENT_ID: id, TIBA_CLIENT_SECRET: secret };
      const options = { cwd: path.join(home, 'tiba-shop'), env: { ...INHERITED, ...login } };
      const { stdout } = await promisify(execFile)(process.execPath, args, options);
      return stdout;
    },
    async close() {
      terminal.close();
      for (const each of running.values()) each.kill();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function blocksIn(guide: string): Promise<PastedBlock[]> {
  const blocks = blocksOf(await readFile(new URL(`guides/${guide}.md`, docs), 'utf8'));
  assert.ok(blocks.length > 0, `${guide}.md has commands`);
  return blocks;
}

/** The five-minute start as a reader pastes it, and then what the other guides show. */
export function testGuides(running: () => Running): void {
  suite('the guides', { skip: commandIsMissing('curl') }, () => {
    let reader: Reader;
    before(async () => {
      reader = await openReader(running());
    });
    after(() => reader?.close());

    test('the five-minute start ends with a verified callback', async () => {
      const manifest = await readFile(new URL('../package.json', docs), 'utf8');
      assert.match(manifest, /"prepare": ".* && ln -sf \S+\/cli\/src\/main\.ts node_modules\/\.bin\/tiba"/);
      const [start] = await blocksIn('start');
      assert.deepEqual(start, { commands: 'npm ci && npm start\n', runsOn: true, needsLogin: false });
      const output = await reader.paste('start', 1);
      assert.match(output, /ACTIVE: it can receive money[^]*MATCH[^]*SUCCESS[^]*"reference_id":"INV\/2026\/001"/);
      assert.match(output, /^reference +first-payment\n.*\nstatus +SUCCESS/m);
      await eventually('the callback is verified', () =>
        /^verified evt_TB\d+_2: disbursement\.succeeded first-payment SUCCESS$/m.test(reader.printedBy('receiver.mjs')),
      );
      // A request that is not signed.
      assert.match(output, /^401$/m);
      // Disbursements of the sandbox's demo may end meanwhile.
      const lines = reader.printedBy('receiver.mjs').trim().split('\n');
      const received = lines.filter((line) => !/^verified \S+: disbursement\.\S+ (?:SANDBOX\/|DEMO-)/.test(line));
      assert.equal(received.length, 2, lines.join('\n'));
    });

    test('the commands of the other guides do what they say', async () => {
      assert.match(await reader.paste('status'), /"reference_id":"first-payment","status":"SUCCESS"/);
      assert.match(await reader.paste('callbacks'), /disbursement\.succeeded[^]*enabled/);
      assert.match(await reader.paste('bulk'), /^ *3 valid /m);
      assert.match(await reader.paste('sandbox'), /clock[^]*slow[^]*SUCCESS/);
      assert.match(await reader.paste('going-live'), /^ok +service/m);
      // What has happened meanwhile came by `tiba listen` too, with a signature that the receiver accepts.
      await eventually('the event is forwarded', () =>
        / disbursement\.succeeded +slow +SUCCESS.* -> 204 in /.test(reader.printedBy('tiba listen')),
      );
    });

    test('each sample runs and prints what it is for', async () => {
      const samples = (await readdir(new URL('samples/', docs))).filter((name) => name.endsWith('.mjs'));
      const printing = Object.keys(PRINTED).filter((sample) => !sample.includes('?'));
      assert.deepEqual(samples.sort(), [...printing, ...OTHERS].sort());
      const output = await reader.runNode('--input-type=module', '--eval', RUN_ALL, 'shop', 'first-payment');
      const [, ...parts] = output.split(/^# /m);
      for (const [index, [sample, expected]] of Object.entries(PRINTED).entries()) {
        const [name, ...lines] = parts[index]?.trimEnd().split('\n') ?? [];
        assert.equal(name, sample);
        // Results of a bulk validation come in any order.
        const unordered = sample === 'bulk.mjs' ? lines.sort() : lines;
        if (expected.length === 0) assert.deepEqual(lines, []);
        for (const text of expected)
          assert.ok(
            unordered.some((line) => (typeof text === 'string' ? line === text : text.test(line))),
            `${sample} does not print ${text}:\n${lines.join('\n')}`,
          );
      }
      assert.match(await reader.runNode('--test', 'receiver-test.mjs'), /pass 1$/m);
    });
  });
}
