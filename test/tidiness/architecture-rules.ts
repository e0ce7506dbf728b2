import { importsOf, type Repository, type Rule, SERVER, select, textOf } from './repository.ts';

/**
 * The layers of the service, from the ground up (ARCHITECTURE.md). A folder imports from the layers below its own and
 * from nothing else.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['lib', 'name-match'],
  ['domain'],
  ['observability', 'rate-limit', 'snap'],
  ['postgres', 'embedded-postgres', 'outbound', 'valkey'],
  ['auth', 'rails', 'workers'],
  ['config'],
  ['transactions', 'account-checks', 'archive'],
  ['feed', 'status-inquiry', 'bank-availability', 'account-validations', 'callbacks', 'personal-data'],
  ['http'],
  ['app'],
  ['sandbox'],
  ['cli'],
  ['main.ts'],
];
const LAYER_OF = new Map(LAYERS.flatMap((folders, layer) => folders.map((folder) => [folder, layer] as const)));

const serverCode = (repository: Repository): string[] => select(repository, [SERVER], ['.ts']);
/** The folder or, where the file lies in none, the file, directly below the service's source. */
const partOf = (file: string): string => {
  const [part = ''] = file.slice(SERVER.length).split('/');
  return part;
};

const layers: Rule = {
  name: 'a folder of the service imports only from the layers below it',
  check: (repository) =>
    serverCode(repository).flatMap((file) =>
      importsOf(repository, file)
        .filter((imported) => imported.startsWith(SERVER) && partOf(imported) !== partOf(file))
        .filter((imported) => layerOf(imported) >= layerOf(file))
        .map((imported) => `${file} -> ${imported}`),
    ),
  planted: [
    { [`${SERVER}lib/planted.ts`]: "import type { Bank } from '../domain/bank.ts';\n" },
    { [`${SERVER}feed/planted.ts`]: "import { poll } from '../status-inquiry/poller.ts';\n" },
    { [`${SERVER}http/planted.ts`]: "import { startApp } from '../app/start-app.ts';\n" },
    { [`${SERVER}new-folder/planted.ts`]: "import { find } from '../lib/find.ts';\n" },
  ],
};

/** A folder without a layer is below all, so that whatever it imports is a violation until it gets one. */
const layerOf = (file: string): number => LAYER_OF.get(partOf(file)) ?? -1;

const noCircles: Rule = {
  name: 'no file imports itself by way of others',
  check(repository) {
    const files = select(repository, ['apps/', 'bench/', 'campaign/', 'packages/', 'test/'], ['.ts', '.tsx']);
    const imports = new Map(
      files.map((file) => [file, importsOf(repository, file).filter((name) => repository.has(name))]),
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const walk = (file: string, above: readonly string[]): void => {
      if (above.includes(file)) circles.push([...above.slice(above.indexOf(file)), file].join(' -> '));
      if (done.has(file)) return;
      done.add(file);
      for (const imported of imports.get(file) ?? []) walk(imported, [...above, file]);
    };
    for (const file of files) walk(file, []);
    return circles;
  },
  planted: [
    {
      [`${SERVER}domain/planted-one.ts`]: "import { two } from './planted-two.ts';\n",
      [`${SERVER}domain/planted-two.ts`]: "import { one } from './planted-one.ts';\n",
    },
  ],
};

const everyFolderIsOnTheMap: Rule = {
  name: 'every folder of the service stands in ARCHITECTURE.md',
  check(repository) {
    const folders = new Set(
      serverCode(repository)
        .map((file) => file.slice(SERVER.length).split('/'))
        .flatMap(([folder = '', ...rest]) => (rest.length > 0 ? [folder] : [])),
    );
    return [...folders].filter((folder) => !textOf(repository, 'ARCHITECTURE.md').includes(`\`${folder}/\``));
  },
  planted: [{ [`${SERVER}new-folder/planted.ts`]: '' }],
};

const SQL =
  /\b(?:select\s+(?:[\w.*"(]|\$\d)[^;`']*?\sfrom\s|insert\s+into\s+\w|update\s+\w+\.?\w*\s+(?:\w+\s+)?set\s|delete\s+from\s+\w|tiba\.[a-z_]+\s+(?:set|where|order|group|join))/i;

/** A statement that is sent where it is written. */
const QUERY = /\bquery(?:<[^()]*>)?\(\s*[`']/;

const sqlStaysInPostgres: Rule = {
  name: 'SQL stays in postgres/, also where it goes over several lines',
  check: (repository) =>
    serverCode(repository)
      .filter((file) => !file.startsWith(`${SERVER}postgres/`) && !file.startsWith(`${SERVER}embedded-postgres/`))
      .filter((file) => {
        const text = textOf(repository, file);
        return QUERY.test(text) || texts(text).some((each) => SQL.test(each));
      }),
  planted: [
    { [`${SERVER}feed/planted-one.ts`]: "await query('select name from tiba.clients where client_id = $1');\n" },
    {
      [`${SERVER}feed/planted-two.ts`]:
        'await query(\n  `select client_id,\n          name\n     from tiba.clients`);\n',
    },
    { [`${SERVER}feed/planted-three.ts`]: 'await query(`\n  update tiba.clients\n     set name = $1`);\n' },
  ],
};

/** The texts of a file: comments may speak of SQL. */
const texts = (code: string): string[] => {
  const bare = code.replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\w])\/\/.*/g, ' ');
  return [...bare.matchAll(/`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/g)].map(([text]) => text);
};

const ENVIRONMENT = /\bprocess\.env\b|\benv\b[^{}]*\} (?:= process\b|from 'node:process')/;

const SETTINGS = new Set([`${SERVER}config/config.ts`, 'apps/bank/src/settings.ts', 'packages/cli/src/environment.ts']);

const onlyConfigReadsTheEnvironment: Rule = {
  name: 'only the settings files read the environment',
  check: (repository) =>
    select(repository, ['apps/', 'packages/'], ['.ts'])
      .filter((file) => !SETTINGS.has(file))
      .filter((file) => ENVIRONMENT.test(textOf(repository, file))),
  planted: [
    { [`${SERVER}http/planted.ts`]: "const port = process.env['PORT'];\n" },
    { [`${SERVER}http/planted.ts`]: 'const { env } = process;\n' },
    { [`${SERVER}http/planted.ts`]: "import { env } from 'node:process';\n" },
  ],
};

const protocolsAreListedOnce: Rule = {
  name: "a protocol's folder is imported by the list of protocols alone",
  check(repository) {
    // The sandbox's demo core orders transfers from a SNAP bank.
    const wiring = ['rails/protocols.ts', 'sandbox/bank-process.ts', 'cli/sandbox.ts'];
    const allowed = new Set(wiring.map((file) => `${SERVER}${file}`));
    const protocols = serverCode(repository)
      .filter((file) => /\/rails\/[^/]+\/protocol\.ts$/.test(file))
      .map((file) => file.replace(/protocol\.ts$/, ''));
    if (!protocols.includes(`${SERVER}rails/snap/`)) throw new Error('the rule does not see the SNAP folder');
    return protocols.flatMap((folder) =>
      serverCode(repository)
        .filter((file) => !file.startsWith(folder) && !allowed.has(file))
        .filter((file) => importsOf(repository, file).some((name) => name.startsWith(folder))),
    );
  },
  planted: [{ [`${SERVER}http/planted.ts`]: "import { sign } from '../rails/snap/signature.ts';\n" }],
};

const templateIsWiredNowhere: Rule = {
  name: "the template of a rail is imported nowhere, and no rail keeps the template's marks",
  check: (repository) =>
    select(repository, ['apps/', 'test/rails/'], ['.ts'])
      .filter((file) => !/\/rails\/template\//.test(`/${file}`))
      .filter(
        (file) =>
          importsOf(repository, file).some((name) => /\/rails\/template\//.test(`/${name}`)) ||
          / Yours: /.test(textOf(repository, file)),
      ),
  planted: [
    { [`${SERVER}rails/planted-one.ts`]: "import { createTemplateRail } from './template/template-rail.ts';\n" },
    { [`${SERVER}rails/planted-two.ts`]: '// Yours: the URL.\n' },
  ],
};

const bankAndServiceShareNoCode: Rule = {
  name: 'the simulated bank and the service share no code',
  check: (repository) =>
    [
      ['apps/bank/', 'apps/server/'],
      ['apps/server/', 'apps/bank/'],
    ].flatMap(([from = '', to = '']) =>
      select(repository, [from], ['.ts']).filter((file) =>
        importsOf(repository, file).some((name) => name.startsWith(to)),
      ),
    ),
  planted: [
    { 'apps/bank/src/planted.ts': "import { sign } from '../../server/src/rails/snap/signature.ts';\n" },
    { [`${SERVER}rails/planted.ts`]: "import { sign } from '../../../bank/src/snap/signature.ts';\n" },
  ],
};

/**
 * What a package may import, in addition to its own files. The command line is bundled with what it imports: of the
 * service that is how a workbook is read and a CSV is written, which must be the same in both.
 */
const PACKAGE_IMPORTS: Readonly<Record<string, RegExp>> = {
  'packages/client': /^$/,
  'packages/cli':
    /^(?:packages\/client\/src\/|packages\/cli\/package\.json$|apps\/server\/src\/(?:lib\/csv\.ts|account-validations\/uploads\/(?:upload|xlsx\/(?:cells|parts|workbook))\.ts)$|node:|(?:@[^/]+\/)?[^/.@]+(?:\/[^/]+)?$)/,
};

const packagesStandAlone: Rule = {
  name: 'a package imports only its own files, the command line the client too, and the service no package of ours',
  check: (repository) => [
    ...select(repository, ['packages/'], ['.ts']).flatMap((file) => {
      const own = file.split('/', 2).join('/');
      return importsOf(repository, file)
        .filter((name) => !name.startsWith(`${own}/src/`) && PACKAGE_IMPORTS[own]?.test(name) !== true)
        .map((name) => `${file} -> ${name}`);
    }),
    ...select(repository, ['apps/'], ['.ts']).filter((file) =>
      importsOf(repository, file).some((name) => name.startsWith('packages/')),
    ),
  ],
  planted: [
    { 'packages/client/src/planted.ts': "import { createHmac } from 'node:crypto';\n" },
    { 'packages/cli/src/planted.ts': "import { find } from '../../../apps/server/src/lib/find.ts';\n" },
    { 'packages/client/src/planted.ts': "import { find } from '../../../apps/server/src/lib/find.ts';\n" },
    { [`${SERVER}lib/planted.ts`]: "import { toMinor } from '../../../../packages/client/src/decimal.ts';\n" },
  ],
};

const CONSOLE = 'apps/console/src/';
const CONSOLE_PACKAGES = /^(?:preact(?:\/hooks)?|@preact\/signals)$/;

const consoleStandsAlone: Rule = {
  name: 'the console imports only its own files and the packages it is built from, and puts no HTML into a page',
  check: (repository) => [
    ...select(repository, [CONSOLE], ['.ts', '.tsx']).flatMap((file) =>
      importsOf(repository, file)
        .filter((name) => !name.startsWith(CONSOLE) && !CONSOLE_PACKAGES.test(name))
        .map((name) => `${file} -> ${name}`),
    ),
    ...select(repository, [CONSOLE], ['.ts', '.tsx']).filter((file) =>
      /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write/.test(textOf(repository, file)),
    ),
    ...serverCode(repository).filter((file) =>
      importsOf(repository, file).some((name) => name.startsWith('apps/console/')),
    ),
  ],
  planted: [
    { [`${CONSOLE}planted.ts`]: "import { ROLES } from '../../server/src/auth/roles.ts';\n" },
    { [`${CONSOLE}planted.tsx`]: 'const page = <p dangerouslySetInnerHTML={{ __html: text }} />;\n' },
    { [`${SERVER}http/planted.ts`]: "import { money } from '../../../console/src/format.ts';\n" },
  ],
};

/** What loads the packages of OpenTelemetry; one of them is imported when tracing is on (app/tracing.ts). */
const TRACING_SDK = new Set(
  ['collector.ts', 'open-telemetry.ts'].map((file) => `${SERVER}observability/tracing/${file}`),
);

const tracingIsLoadedWhenItIsOn: Rule = {
  name: 'OpenTelemetry is loaded only while tracing is on',
  check: (repository) =>
    serverCode(repository)
      .filter((file) => !TRACING_SDK.has(file))
      .filter((file) => /from '(?:@opentelemetry\/|[./a-z-]*\/open-telemetry\.ts')/.test(textOf(repository, file))),
  planted: [
    { [`${SERVER}http/planted.ts`]: "import { trace } from '@opentelemetry/api';\n" },
    { [`${SERVER}app/planted.ts`]: "import { start } from '../observability/tracing/open-telemetry.ts';\n" },
  ],
};

/** They run beside a service, often for a second: most of that went into loading it. */
const SHORT_COMMANDS = ['cli/migrate.ts', 'cli/manage.ts'].map((file) => `${SERVER}${file}`);
const THE_SERVICE = new RegExp(`^${SERVER}(?:http|app)/`);

const shortCommandsLoadNoService: Rule = {
  name: 'migrate and manage load nothing of the service',
  check: (repository) =>
    SHORT_COMMANDS.flatMap((command) => {
      const loaded = new Set([command]);
      for (const file of loaded) for (const name of importsOf(repository, file)) loaded.add(name);
      return [...loaded].filter((file) => THE_SERVICE.test(file)).map((file) => `${command} -> ${file}`);
    }),
  planted: [
    {
      [`${SERVER}cli/migrate.ts`]: "import { readProduction } from './planted.ts';\n",
      [`${SERVER}cli/planted.ts`]: "import { startApp } from '../app/start-app.ts';\n",
    },
  ],
};

export const ARCHITECTURE_RULES: readonly Rule[] = [
  layers,
  noCircles,
  everyFolderIsOnTheMap,
  sqlStaysInPostgres,
  onlyConfigReadsTheEnvironment,
  protocolsAreListedOnce,
  templateIsWiredNowhere,
  bankAndServiceShareNoCode,
  packagesStandAlone,
  consoleStandsAlone,
  tracingIsLoadedWhenItIsOn,
  shortCommandsLoadNoService,
];
