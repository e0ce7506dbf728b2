import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { SETTINGS } from '../../apps/server/src/config/config.ts';
import { createAuthority } from '../rails/certificates.ts';
import { commandIsMissing } from '../support/required-command.ts';

/** deploy/: the files that operators copy, as they are but for the paths of certificates. */

const read = (file: string): Promise<string> => readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'tiba-deploy-'));
  const { certificate, privateKey } = await (await createAuthority()).issue('localhost');
  await writeFile(path.join(directory, 'tiba.crt'), certificate);
  await writeFile(path.join(directory, 'tiba.key'), privateKey);
  await writeFile(path.join(directory, 'tiba.pem'), `${certificate}\n${privateKey}`);
});
after(() => rm(directory, { recursive: true }));

/** What the program says about a configuration; empty when it accepts it without a warning. */
function complaints(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  const warnings = /\[(?:WARNING|warn|ALERT|emerg)\]/.test(stderr);
  return status === 0 && !warnings ? '' : `${stdout}${stderr}`;
}

test('HAProxy accepts its configuration', { skip: commandIsMissing('haproxy') }, async () => {
  const file = path.join(directory, 'haproxy.cfg');
  const check = async (text: string): Promise<string> => {
    await writeFile(file, text.replaceAll('/etc/haproxy/', `${directory}/`));
    return complaints('haproxy', ['-c', '-f', file]);
  };
  await writeFile(path.join(directory, '503.http'), await read('haproxy/503.http'));
  const shipped = await read('haproxy/haproxy.cfg');
  assert.equal(await check(shipped), '');
  assert.notEqual(await check(shipped.replace('option redispatch', 'option planted')), '');
});

test('nginx accepts its configuration', { skip: commandIsMissing('nginx') }, async () => {
  const file = path.join(directory, 'nginx.conf');
  const check = async (text: string): Promise<string> => {
    const here = text
      .replaceAll(/\/(?:etc\/nginx|var\/log\/nginx|run)\//g, `${directory}/`)
      // nginx tries its ports. Not each user may bind those, and another program may have them.
      .replaceAll(/\blisten (\d+)/g, `listen unix:${directory}/$1.socket`);
    await writeFile(file, here);
    return complaints('nginx', ['-t', '-p', directory, '-c', file]);
  };
  const shipped = await read('nginx/nginx.conf');
  assert.equal(await check(shipped), '');
  assert.notEqual(await check(shipped.replace('proxy_next_upstream_tries', 'proxy_planted')), '');
});

suite('the manifests for Kubernetes', () => {
  const numberOf = (text: string, name: string): number =>
    Number(new RegExp(`${name}:? (?:\\{ name: \\S+, value: )?"?(\\d+)`).exec(text)?.[1] ?? Number.NaN);

  test('set only settings that there are', async () => {
    const known = new Set(Object.values(SETTINGS).flatMap(({ name }) => [name, `${name}_FILE`]));
    const text = `${await read('kubernetes/tiba.yaml')}${await read('kubernetes/migrate.yaml')}`;
    const names = [...text.matchAll(/\{ name: ([A-Z][A-Z_]+), value/g)].map(([, name = '']) => name);
    assert.ok(names.length > 5);
    assert.deepEqual(
      names.filter((name) => name !== 'NODE_ENV' && !known.has(name)),
      [],
    );
  });

  test('a pod is out of the Service before it refuses connections, and may take as long as it needs to stop', async () => {
    const text = await read('kubernetes/tiba.yaml');
    const stopDelay = Number(/TIBA_STOP_DELAY_SECONDS, value: "(\d+)"/.exec(text)?.[1]);
    const [, probe = ''] = text.split('readinessProbe:');
    const unreadyAfter = numberOf(probe, 'periodSeconds') * numberOf(probe, 'failureThreshold') + 2;
    assert.ok(unreadyAfter < stopDelay, `${unreadyAfter} s`);
    const drainSeconds = 30;
    assert.ok(numberOf(text, 'terminationGracePeriodSeconds') >= stopDelay + drainSeconds);
  });
});
