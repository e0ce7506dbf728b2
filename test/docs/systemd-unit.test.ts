import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandIsMissing } from '../support/required-command.ts';

/** deploy/systemd: the unit that operators install. */

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** 0 is no exposure, 10 all of it, by the scale of `systemd-analyze security`. */
const EXPOSURE_MAX = 3;

suite('the systemd unit', { skip: commandIsMissing('systemd-analyze') }, () => {
  let directory: string;
  let unit: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-unit-'));
    unit = await readFile(new URL('../../deploy/systemd/tiba@.service', import.meta.url), 'utf8');
  });
  after(() => rm(directory, { recursive: true }));

  /** On this machine the program is elsewhere. */
  async function install(text: string): Promise<string> {
    const file = path.join(directory, 'tiba@1.service');
    await writeFile(file, text.replace('/opt/tiba/node_modules/node/bin/node', process.execPath));
    return file;
  }

  const analyze = (...values: readonly string[]): string => {
    const { stdout, stderr } = spawnSync('systemd-analyze', values);
    return `${stdout.toString()}${stderr.toString()}`;
  };

  /** What systemd says about the unit itself: it verifies the units of this machine too. */
  const complaints = (file: string): string[] =>
    analyze('verify', file)
      .split('\n')
      .filter((line) => line.includes('tiba@'));

  const exposure = (file: string): number => {
    const output = analyze('security', '--offline=true', file);
    return Number(/Overall exposure level for [^:]+: ([\d.]+)/.exec(output)?.[1] ?? Number.NaN);
  };

  test('is valid', async () => {
    assert.deepEqual(complaints(await install(unit)), []);
    assert.notDeepEqual(complaints(await install(unit.replace('Restart=on-failure', 'Restart=planted'))), []);
  });

  test('exposes little of the machine', async () => {
    assert.ok(exposure(await install(unit)) <= EXPOSURE_MAX);
    const open = unit.replaceAll(/^(?:Protect|Private|Restrict|SystemCall|Capability|User|NoNew).*$/gm, '');
    assert.ok(exposure(await install(open)) > EXPOSURE_MAX);
  });

  /** Regression: it could write no archive, and each instance had a user of its own, so none could read another's. */
  test('can write the archive where the guide has it, as the user that the guide creates', async () => {
    const page = await readFile(new URL('../../docs/production.md', import.meta.url), 'utf8');
    const [, directory = ''] = /^StateDirectory=(\S+)$/m.exec(unit) ?? [];
    assert.match(page, new RegExp(`^export TIBA_ARCHIVE_DIRECTORY=/var/lib/${directory}$`, 'm'));
    const [, user = ''] = /^User=(\S+)$/m.exec(unit) ?? [];
    assert.match(page, new RegExp(`^systemd-sysusers --inline 'u ${user} -'$`, 'm'));
    assert.match(page, new RegExp(`^runuser -u ${user} -- \\S+/node apps/server/src/main.ts manage `, 'm'));
    assert.doesNotMatch(unit, /^DynamicUser=yes/m);
  });

  test('finds each file that the guide installs', async () => {
    const page = await readFile(new URL('../../docs/production.md', import.meta.url), 'utf8');
    const [, block = ''] = /```sh\n([^`]*tiba@\.service[^`]*)```/.exec(page) ?? [];
    const root = path.join(directory, 'root');
    const given = ['secret-key', 'database-url', 'rails.json'];
    for (const file of given) await writeFile(path.join(directory, file), 'x');
    await mkdir(path.join(root, 'etc/tiba'), { recursive: true });
    // Without what needs the network, and systemd itself.
    const commands = block
      .split('\n')
      .filter((line) => /^(?:umask|install|echo|printf) /.test(line))
      .map((line) => line.replaceAll('/opt/tiba/', `${REPOSITORY}/`).replaceAll(/(?<= )\/etc\//g, `${root}/etc/`));
    assert.ok(commands.length > 5);
    const { status, stderr } = spawnSync('bash', ['-euc', commands.join('\n')], { cwd: directory });
    assert.equal(status, 0, stderr.toString());
    const named = [...unit.matchAll(/^(?:EnvironmentFile=|LoadCredential=[^:]+:)(\S+)$/gm)].map(
      ([, file = '']) => file,
    );
    assert.equal(named.length, given.length + 2);
    for (const file of named) await stat(`${root}${file.replace('%i', '1')}`);
    await stat(path.join(root, 'etc/systemd/system/tiba@.service'));
    const settings = await readFile(path.join(root, 'etc/tiba/tiba-2.env'), 'utf8');
    assert.match(settings, /^TIBA_PORT=\d+\nTIBA_OPERATOR_PORT=\d+\n$/);
  });
});
