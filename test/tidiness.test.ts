import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** What the house rules forbid and a program can see. */

const root = fileURLToPath(new URL('..', import.meta.url));
const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter((file) => file !== '' && existsSync(path.join(root, file)));

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const filesIn = (folder: string, extension: string): string[] =>
  tracked.filter((file) => file.startsWith(folder) && file.endsWith(extension));

/** The modules that a file imports, relative ones as paths from the root. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import) '([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name,
  );
}

function offenders(files: readonly string[], offends: (file: string) => boolean): string[] {
  assert.ok(files.length > 0, 'the rule looks at no file at all');
  return files.filter(offends);
}

test('only the settings files read the environment', () => {
  const allowed = new Set(['apps/server/src/config.ts', 'apps/bank/src/settings.ts']);
  const code = filesIn('apps/', '.ts').filter((file) => !allowed.has(file));
  assert.deepEqual(
    offenders(code, (file) => read(file).includes('process.env')),
    [],
  );
});

test('every folder of the service has its line in ARCHITECTURE.md', () => {
  const source = 'apps/server/src/';
  const paths = filesIn(source, '.ts').map((file) => file.slice(source.length).split('/'));
  const folders = new Set(paths.flatMap(([folder = '', ...rest]) => (rest.length > 0 ? [folder] : [])));
  const map = read('ARCHITECTURE.md');
  assert.ok(folders.size > 0);
  assert.deepEqual(
    [...folders].filter((folder) => !map.includes(`\`${folder}/\``)),
    [],
  );
});

test('domain/ imports nothing from outside itself', () => {
  const domain = filesIn('apps/server/src/domain/', '.ts');
  const strays = domain.flatMap((file) =>
    importsOf(file)
      .filter((name) => !name.startsWith('apps/server/src/domain/'))
      .map((name) => `${file} -> ${name}`),
  );
  assert.ok(domain.length > 0);
  assert.deepEqual(strays, []);
});

test("a protocol's folder is imported by the wiring alone", () => {
  const source = 'apps/server/src/';
  // The list of protocols, and the sandbox, whose demo core orders transfers from a SNAP bank.
  const wiring = new Set(
    ['rails/protocols.ts', 'sandbox/bank-process.ts', 'cli/sandbox.ts'].map((file) => `${source}${file}`),
  );
  const protocols = filesIn(`${source}rails/`, '/protocol.ts').map((file) => file.replace(/protocol\.ts$/, ''));
  const folders = protocols.filter((folder) => folder !== `${source}rails/`);
  assert.ok(folders.includes(`${source}rails/snap/`));
  const strays = folders.flatMap((folder) => {
    const outside = filesIn(source, '.ts').filter((file) => !file.startsWith(folder) && !wiring.has(file));
    return offenders(outside, (file) => importsOf(file).some((name) => name.startsWith(folder)));
  });
  assert.deepEqual(strays, []);
});

test('the template of a rail is wired nowhere, and no rail keeps its marks', () => {
  const code = [...filesIn('apps/', '.ts'), ...filesIn('test/rails/', '.ts')];
  const template = /\/rails\/template\//;
  const others = code.filter((file) => !template.test(`/${file}`));
  assert.ok(others.length < code.length, 'there is a template');
  assert.deepEqual(
    offenders(
      others,
      (file) => importsOf(file).some((name) => template.test(`/${name}`)) || / Yours: /.test(read(file)),
    ),
    [],
  );
});

test('SQL stays in postgres/', () => {
  const elsewhere = filesIn('apps/server/src/', '.ts').filter((file) => !file.startsWith('apps/server/src/postgres/'));
  const sql = /\b(?:select\s+[\w*].*\bfrom|insert into|update \w+\.?\w* set|delete from)\b/i;
  assert.deepEqual(
    offenders(elsewhere, (file) => sql.test(read(file).replaceAll(/\/\*\*[^]*?\*\//g, ''))),
    [],
  );
});

test('the simulated bank and the service share no code', () => {
  const bank = offenders(filesIn('apps/bank/', '.ts'), (file) =>
    importsOf(file).some((name) => name.startsWith('apps/server')),
  );
  const server = offenders(filesIn('apps/server/', '.ts'), (file) =>
    importsOf(file).some((name) => name.startsWith('apps/bank')),
  );
  assert.deepEqual([...bank, ...server], []);
});

test('no source file is longer than 400 lines', () => {
  const code = [...filesIn('apps/', '.ts'), ...filesIn('bench/', '.ts'), ...filesIn('test/', '.ts')];
  assert.deepEqual(
    offenders(code, (file) => read(file).split('\n').length > 400),
    [],
  );
});

test('file names are in kebab case', () => {
  const code = [...filesIn('apps/', '.ts'), ...filesIn('bench/', '.ts'), ...filesIn('test/', '.ts')];
  assert.deepEqual(
    offenders(code, (file) => !/^[a-z0-9-]+(?:\.test)?\.ts$/.test(path.basename(file))),
    [],
  );
});

test('tests do not sleep', () => {
  const tests = filesIn('test/', '.test.ts').filter((file) => file !== 'test/tidiness.test.ts');
  const sleep = /await (?:sleep|delay|setTimeout)\(\s*[\d_]{3,}/;
  assert.deepEqual(
    offenders(tests, (file) => sleep.test(read(file))),
    [],
  );
});

test('links in the documentation lead somewhere', () => {
  const broken = filesIn('', '.md').flatMap((file) =>
    [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)]
      .map(([, target = '']) => path.join(path.dirname(file), target))
      .filter((target) => !existsSync(path.join(root, target)))
      .map((target) => `${file} -> ${target}`),
  );
  assert.deepEqual(broken, []);
});

test('the documentation names only npm scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const unknown = filesIn('', '.md').flatMap((file) =>
    [...read(file).matchAll(/npm run ([a-z-]+)/g)]
      .map(([, script = '']) => script)
      .filter((script) => !Object.hasOwn(scripts, script))
      .map((script) => `${file}: npm run ${script}`),
  );
  assert.deepEqual(unknown, []);
});

test('the lockfile names no addresses, and dependencies have exact versions', () => {
  assert.doesNotMatch(read('package-lock.json'), /"resolved":/);
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, version]) => !/^\d/.test(version));
  assert.deepEqual(loose, []);
});
