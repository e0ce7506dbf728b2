import path from 'node:path';
import { anchorsOf, linesOfProse } from '../../docs/site/anchors.ts';
import { type Repository, type Rule, select, textOf } from './repository.ts';

const code = (repository: Repository): string[] =>
  select(repository, ['apps/', 'bench/', 'campaign/', 'packages/', 'test/'], ['.ts', '.tsx']);

const FILE_LINES_MAX = 400;
/** As long as what it is generated from. */
const GENERATED = /^(?:packages\/client|apps\/console)\/src\/generated\//;

const fileLength: Rule = {
  name: `no source file is longer than ${FILE_LINES_MAX} lines`,
  check: (repository) =>
    code(repository).filter(
      (file) => !GENERATED.test(file) && textOf(repository, file).split('\n').length > FILE_LINES_MAX,
    ),
  planted: [{ 'apps/server/src/http/planted.ts': 'export {};\n'.repeat(FILE_LINES_MAX + 1) }],
};

const COLUMNS_MAX = 120;
/** In a page: a row of a table, a heading, a link, a message and a command cannot be broken. */
const UNBREAKABLE = /^\s*\||^#|^\s*\{"|https?:\/\/\S{60}|^\s*(?:[-*] )?\[[^\]]*\]\([^)]*\)|^\s*(?:curl|npx|npm) /;
/** A text is as long as it is: the name of a test, a fixture. */
const LITERALS = /'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`?|"(?:\\.|[^"\\])*"|\/(?:\\.|[^/\\\s])+\/[a-z]*/g;

function isTooLong(file: string, line: string): boolean {
  if (line.length <= COLUMNS_MAX) return false;
  if (file.endsWith('.md')) return !UNBREAKABLE.test(line);
  const isService = file.startsWith('apps/') || file.startsWith('packages/');
  return isService || line.replaceAll(LITERALS, '').length === line.length;
}

const lineLength: Rule = {
  name: `no line of code, SQL or prose is longer than ${COLUMNS_MAX} columns, in tests but for a text in it`,
  check: (repository) =>
    select(repository, [''], ['.ts', '.tsx', '.sql', '.md']).flatMap((file) =>
      file === 'schema.sql'
        ? []
        : textOf(repository, file)
            .split('\n')
            .flatMap((line, index) => (isTooLong(file, line) ? [`${file}:${index + 1}`] : [])),
    ),
  planted: [
    { 'apps/server/src/http/planted.ts': `// ${'long '.repeat(30)}\n` },
    { 'apps/server/src/http/planted.ts': `const message = '${'long '.repeat(30)}';\n` },
    { 'test/planted.test.ts': `// ${'long '.repeat(30)}\n` },
    { 'apps/console/src/planted.tsx': `const text = '${'long '.repeat(30)}';\n` },
    { 'docs/planted.md': `${'long '.repeat(30)}\n` },
  ],
};

const kebabCase: Rule = {
  name: 'file names are in kebab case',
  check: (repository) => code(repository).filter((file) => !/^[a-z0-9-]+(?:\.test)?\.tsx?$/.test(path.basename(file))),
  planted: [{ 'apps/server/src/http/plantedFile.ts': '' }],
};

/** A pause of a fixed time, whatever its name and its time are. To wait for something, poll for it with `eventually`. */
const SLEEP =
  /\bsetTimeout\b[^}]*\} from 'node:timers\/promises'|new Promise(?:<\w+>)?\(\((\w+)\) => setTimeout\(\1\b|scheduler\.wait\(/;
/** Where a pause is no wait for something else to happen, or stands between two polls: each with its reason. */
const SLEEPS_ALLOWED: Readonly<Record<string, string>> = {
  'test/support/eventually.ts': 'polls: this is what other tests wait with',
  'test/support/sandbox.ts': 'polls while it cleans up, where nothing may be thrown',
  'test/deploy/load.ts': 'paces requests: as many as possible would leave nothing to the service',
  'test/end-to-end/caller.ts': 'repeats a request that is answered 503, as a client does',
  'test/end-to-end/disbursements.ts': 'repeats a feed that is answered 503, as a core does',
  'test/end-to-end/feed-commands.ts': 'the random time after which the service is killed',
  'test/end-to-end/killer.ts': 'the random times between two kills',
  'test/end-to-end/killed.test.ts': 'polls until the kills are over, with a deadline of its own',
  'test/fault-injection/disabled-client.test.ts': 'asks again and again for as long as the guarantee runs',
  'test/fault-injection/request-monitor.ts': 'spreads the requests of a monitor',
  'test/feed/process-usage.ts': 'samples memory at an interval',
  'test/postgres/notifications.test.ts': 'holds a condition against a stretch of time',
  'test/rails/resilience/hedge.test.ts': 'the time that a simulated bank takes',
  'test/rails/snap-access-token.test.ts': 'the time that a simulated bank takes, and inquiries at an interval',
  'test/sandbox/sandbox-interrupted.test.ts': 'repeats Ctrl-C at an interval',
};

const testsDoNotSleep: Rule = {
  name: 'tests do not sleep, also where the time is an expression',
  check: (repository) =>
    select(repository, ['test/'], ['.ts']).filter(
      (file) =>
        !Object.hasOwn(SLEEPS_ALLOWED, file) &&
        !file.startsWith('test/tidiness/') &&
        SLEEP.test(textOf(repository, file)),
    ),
  planted: [
    { 'test/planted.test.ts': "import { setTimeout } from 'node:timers/promises';\nawait setTimeout(2_000);\n" },
    {
      'test/planted-helper.ts': "import { setTimeout as nap } from 'node:timers/promises';\nawait nap(2 * PAUSE_MS);\n",
    },
    { 'test/planted.test.ts': 'await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));\n' },
  ],
};

const linksLeadSomewhere: Rule = {
  name: 'links in the documentation lead somewhere',
  check: (repository) =>
    select(repository, [''], ['.md']).flatMap((file) =>
      [...textOf(repository, file).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)]
        .map(([, target = '']) => path.posix.join(path.posix.dirname(file), target))
        .filter(
          (target) =>
            ![...repository.keys()].some((each) => each === target || each.startsWith(`${target.replace(/\/$/, '')}/`)),
        )
        .map((target) => `${file} -> ${target}`),
    ),
  planted: [{ 'docs/planted.md': '[nowhere](nowhere.md)\n' }],
};

const anchorsExist: Rule = {
  name: 'links to a heading lead to one',
  check: (repository) =>
    select(repository, [''], ['.md']).flatMap((file) =>
      [
        ...linesOfProse(textOf(repository, file))
          .join('\n')
          .matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g),
      ].flatMap(([link, target = '', anchor = '']) => {
        const page = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
        return !page.endsWith('.md') || anchorsOf(textOf(repository, page)).has(anchor) ? [] : [`${file}: ${link}`];
      }),
    ),
  planted: [
    { 'docs/planted.md': '[nowhere](contract.md#no-such-heading)\n' },
    { 'docs/planted.md': '# One\n\n[nowhere](#two)\n' },
  ],
};

const sectionsExist: Rule = {
  name: 'what cites docs/contract.md cites a section that is there',
  check(repository) {
    const sections = new Set(
      [...textOf(repository, 'docs/contract.md').matchAll(/^#{2,3} (\d(?:\.\d)?)\b/gm)].map(([, section]) => section),
    );
    return select(repository, ['apps/', 'test/', 'docs/', 'bench/', 'campaign/', 'packages/'], ['.ts', '.sql', '.md'])
      .filter((file) => !file.startsWith('test/tidiness/'))
      .flatMap((file) =>
        [...textOf(repository, file).matchAll(/docs\/contract\.md,? (?:sections? )?(\d+(?:\.\d+)?)/g)]
          .filter(([, section]) => !sections.has(section))
          .map(([cited]) => `${file}: ${cited}`),
      );
  },
  planted: [{ 'apps/server/src/http/planted.ts': '/** docs/contract.md 12.3. */\n' }],
};

const npmScriptsExist: Rule = {
  name: 'the documentation names only npm scripts that exist',
  check(repository) {
    const { scripts } = JSON.parse(textOf(repository, 'package.json')) as { scripts: Record<string, string> };
    return select(repository, [''], ['.md']).flatMap((file) =>
      [...textOf(repository, file).matchAll(/npm run ([a-z-]+)/g)]
        .filter(([, script = '']) => !Object.hasOwn(scripts, script))
        .map(([command]) => `${file}: ${command}`),
    );
  },
  planted: [{ 'docs/planted.md': 'npm run nothing-of-the-kind\n' }],
};

/** A call that logs, its fields, and how a message begins that is no constant text in lower case. */
const LOG_MESSAGE = /\blog\.(?:trace|debug|info|warn|error|fatal)\(\s*(?:\{(?:[^{}]|\{[^{}]*\})*\},\s*)?(?:`|'[A-Z])/;

const logMessagesAreConstant: Rule = {
  name: 'log messages are constant texts in lower case: what varies is a field',
  check: (repository) =>
    select(repository, ['apps/server/src/'], ['.ts']).filter((file) => LOG_MESSAGE.test(textOf(repository, file))),
  planted: [
    { 'apps/server/src/feed/planted-one.ts': 'log.warn({ err: error }, `the feed of ${clientId} failed`);\n' },
    { 'apps/server/src/feed/planted-one.ts': 'log.warn({ feed: { clientId } }, `the feed failed: ${reason}`);\n' },
    { 'apps/server/src/feed/planted-two.ts': "log.warn({ err: error }, 'The feed failed; will retry');\n" },
  ],
};

export const FORM_RULES: readonly Rule[] = [
  fileLength,
  lineLength,
  kebabCase,
  testsDoNotSleep,
  linksLeadSomewhere,
  anchorsExist,
  sectionsExist,
  npmScriptsExist,
  logMessagesAreConstant,
];
