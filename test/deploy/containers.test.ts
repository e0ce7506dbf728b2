import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { SETTINGS } from '../../apps/server/src/config/config.ts';
import { createAuthority } from '../rails/certificates.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { INHERITED } from '../support/suite-environment.ts';

/** Dockerfile, compose.yaml and the list of what is in them. The image itself is built by `npm run campaign -- image`. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

interface Service {
  readonly image?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

type Manifest = Record<'dependencies' | 'devDependencies', Record<string, string>>;

const compose = parse(await read('compose.yaml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const MADE_BY_SCRIPT = 'deploy/compose/secrets/';

suite('compose.yaml', () => {
  test('gives the service only settings that there are, and secrets by file only', () => {
    const secrets = new Set<string>(Object.values(SETTINGS).flatMap((each) => ('secret' in each ? [each.name] : [])));
    const known = new Set(Object.values(SETTINGS).flatMap(({ name }) => [name, `${name}_FILE`]));
    for (const name of ['tiba', 'migrate']) {
      const settings = Object.keys(compose.services[name]?.environment ?? {});
      assert.ok(settings.length > 1);
      assert.deepEqual(
        settings.filter((each) => !known.has(each)),
        [],
      );
      assert.deepEqual(
        settings.filter((each) => secrets.has(each) && each !== 'TIBA_VALKEY_URL'),
        [],
      );
    }
    // Without a password, it is no secret.
    assert.equal(compose.services['tiba']?.environment?.['TIBA_VALKEY_URL'], 'redis://valkey:6379');
  });

  test('runs what is of Tiba without rights, on a root that is read-only', () => {
    const own = services.filter(([, { image }]) => image === 'tiba');
    assert.deepEqual(
      own.map(([name]) => name),
      ['migrate', 'tiba', 'bank'],
    );
    for (const [, { read_only: readOnly, cap_drop: dropped, security_opt: options }] of own)
      assert.deepEqual(
        { readOnly, dropped, options },
        { readOnly: true, dropped: ['ALL'], options: ['no-new-privileges:true'] },
      );
  });

  test('names images of exact versions, and opens ports to this machine only', () => {
    for (const [name, { image = '', ports = [] }] of services) {
      assert.match(image, /^tiba$|^docker\.io\/[a-z]+\/[a-z]+:v?\d/, name);
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
    }
  });

  test('mounts only files that there are, volumes and secrets that it declares', () => {
    for (const [name, { volumes = [], secrets = [], depends_on: needed = {} }] of services) {
      for (const [source = ''] of volumes.map((each) => each.split(':'))) {
        const file = source.replace(/^\.\//, '');
        if (!source.startsWith('.')) assert.ok(source in compose.volumes, `${name}: ${source}`);
        else assert.ok(file.startsWith(MADE_BY_SCRIPT) || existsSync(path.join(ROOT, file)), `${name}: ${source}`);
      }
      for (const secret of secrets) assert.ok(secret in compose.secrets, `${name}: ${secret}`);
      for (const other of Object.keys(needed)) assert.ok(other in compose.services, `${name}: ${other}`);
    }
  });

  test('gets its secrets from a script, whose folder others cannot enter', {
    skip: commandIsMissing('openssl'),
  }, async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'tiba-compose-'));
    try {
      const script = path.join(ROOT, 'deploy/compose/secrets.sh');
      const folder = path.join(directory, 'secrets');
      await promisify(execFile)(script, [folder]);
      for (const { file } of Object.values(compose.secrets)) {
        const content = await readFile(file.replace(MADE_BY_SCRIPT, `${folder}/`), 'utf8');
        assert.ok(content.length > 20, file);
      }
      assert.equal((await stat(folder)).mode & 0o777, 0o700);
      assert.match(
        await readFile(path.join(folder, 'bank.env'), 'utf8'),
        /^BANK_CLIENT_PUBLIC_KEY=-----BEGIN [^\n]+\\n$/m,
      );
      assert.equal(spawnSync(script, [folder]).status, 1, 'a second run keeps what is there');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test('the image starts serve, and as a user without rights', async () => {
  const dockerfile = await read('Dockerfile');
  assert.match(dockerfile, /^ARG BASE=\S+$/m);
  assert.match(dockerfile, /^USER 10001:10001$/m);
  assert.match(dockerfile, /^HEALTHCHECK .* CMD \["node", [^]*\/livez/m);
  assert.match(dockerfile, /^CMD \["serve"\]$/m);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
  const kept = (await read('.dockerignore')).split('\n').filter((line) => line.startsWith('!'));
  // Stages that build need a part of a folder.
  const whole = copied.filter((name) => !copied.some((other) => name.startsWith(`${other}/`)));
  assert.deepEqual(new Set(whole), new Set(kept.map((line) => line.slice(1))));
});

test('the health check of the image asks as the operator listener speaks', async () => {
  const [, program = ''] =
    /^HEALTHCHECK .* CMD (\[[^]*?"\])$/m.exec((await read('Dockerfile')).replaceAll('\\\n', '')) ?? [];
  const [, ...args] = JSON.parse(program) as string[];
  const authority = await createAuthority();
  const { certificate: cert, privateKey: key } = await authority.issue('localhost');
  const check = async (server: Server, settings: Record<string, string>): Promise<number | string | undefined> => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const environment = {
      ...INHERITED,
      ...settings,
      TIBA_OPERATOR_PORT: String((server.address() as AddressInfo).port),
    };
    try {
      await promisify(execFile)(process.execPath, args, { env: environment });
      return 0;
    } catch (error) {
      return (error as { code?: number }).code;
    } finally {
      server.close();
    }
  };
  const answer = (status: number) => (_: unknown, response: ServerResponse) => void response.writeHead(status).end();
  const tls = { cert, key };
  const withClientCertificates = { ...tls, requestCert: true, ca: authority.certificate };
  const file = { TIBA_TLS_CERTIFICATE_FILE: 'set' };
  const operatorFile = { TIBA_OPERATOR_TLS_CERTIFICATE_FILE: 'set' };
  assert.deepEqual(
    await Promise.all([
      check(createHttpServer(answer(200)), {}),
      check(createHttpServer(answer(503)), {}),
      check(createHttpsServer(tls, answer(200)), file),
      check(createHttpsServer(tls, answer(200)), operatorFile),
      check(createHttpsServer(tls, answer(503)), file),
      check(createHttpsServer(withClientCertificates), { ...file, TIBA_OPERATOR_TLS_CLIENT_CA_FILE: 'set' }),
      check(createHttpServer(), { ...file, TIBA_OPERATOR_TLS_CLIENT_CA_FILE: 'set' }),
    ]),
    [0, 1, 0, 0, 1, 0, 1],
  );
});

/** A folder whose lock has only what `npm ci --omit=dev` installs. */
async function productionFolder(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-sbom-'));
  const { devDependencies: _, ...manifest } = JSON.parse(await read('package.json')) as Record<string, unknown>;
  const lock = JSON.parse(await read('package-lock.json')) as { packages: Record<string, Record<string, unknown>> };
  const root = { ...lock.packages[''], devDependencies: {} };
  const packages = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
  const files = {
    'package.json': manifest,
    'package-lock.json': { ...lock, packages: { ...Object.fromEntries(packages), '': root } },
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(path.join(directory, name), JSON.stringify(content));
  return directory;
}

test('the list of packages names each production dependency, and none of development', {
  skip: commandIsMissing('npm'),
}, async () => {
  const command = /^npm sbom .*$/m.exec(await read('docs/production.md'))?.[0] ?? '';
  const directory = await productionFolder();
  try {
    const printing = command.replace(/ > \S+$/, ' --package-lock-only');
    const { stdout } = await promisify(execFile)('sh', ['-c', printing], {
      cwd: directory,
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    const list = JSON.parse(stdout) as { bomFormat: string; components: { purl: string }[] };
    assert.equal(list.bomFormat, 'CycloneDX');
    const { dependencies, devDependencies } = JSON.parse(await read('package.json')) as Manifest;
    const listed = new Set(list.components.map(({ purl }) => decodeURIComponent(purl)));
    const isListed = ([name, version]: [string, string]): boolean => listed.has(`pkg:npm/${name}@${version}`);
    assert.deepEqual(
      Object.entries(dependencies).filter((each) => !isListed(each)),
      [],
    );
    // Packages of production bring some of development's, such as typescript.
    const tools = Object.entries(devDependencies).filter(([name]) => /^(?:knip|oxlint|fast-check)$/.test(name));
    assert.equal(tools.length, 3);
    assert.deepEqual(tools.filter(isListed), []);
  } finally {
    await rm(directory, { recursive: true });
  }
});
