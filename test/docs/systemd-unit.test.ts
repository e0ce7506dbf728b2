import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { commandIsMissing } from '../support/required-command.ts';

/** deploy/systemd: the unit that operators install. */

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
    const open = unit.replaceAll(/^(?:Protect|Private|Restrict|SystemCall|Capability|DynamicUser|NoNew).*$/gm, '');
    assert.ok(exposure(await install(open)) > EXPOSURE_MAX);
  });
});
