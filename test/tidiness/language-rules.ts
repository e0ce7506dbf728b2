import { namesOnly, type Repository, type Rule, select, textOf } from './repository.ts';

/** This rule's own lists name what they forbid, and the license is not ours to word. */
const EXEMPT = /^test\/tidiness\/|^LICENSE$|^(?:docs\/)?package-lock\.json$/;
const everywhere = (repository: Repository): string[] =>
  select(
    repository,
    [
      'apps/',
      'bench/',
      'campaign/',
      'packages/',
      'test/',
      'docs/',
      'README',
      'ARCHITECTURE',
      'CONTRIBUTING',
      'SECURITY',
      'CHANGELOG',
      'schema.sql',
      'openapi.json',
    ],
    ['.ts', '.tsx', '.sql', '.md', '.json', '.lua'],
  ).filter((file) => !EXEMPT.test(file));

/** File and line of each match. */
function findAll(repository: Repository, files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    textOf(repository, file)
      .split('\n')
      .flatMap((line, index) => {
        const found = pattern.exec(line);
        return found === null ? [] : [`${file}:${index + 1}: ${found[0]}`];
      }),
  );
}

/**
 * Words that a reader whose second language is English stumbles over, or that speak of a program as of a person. The
 * user `nobody` of Unix is no such word.
 */
const ARCHAIC_WORDS = [
  'whoever|whomever|whosoever|whatsoever|somebody|for ever|henceforth|thereof|therein',
  'hitherto|in vain|so many|besides that|he|him|his|himself',
];
const ARCHAIC = new RegExp(String.raw`\b(?:${ARCHAIC_WORDS.join('|')})\b|(?<!['\x60"])\bnobody\b(?!['\x60"])`, 'i');

const plainEnglish: Rule = {
  name: 'code, tests and documentation use no archaic words',
  check: (repository) => findAll(repository, everywhere(repository), ARCHAIC),
  planted: [
    { 'apps/server/src/http/planted.ts': '/** Whoever calls this. */\n' },
    { 'docs/planted.md': 'A lost notification never leaves money "in process" for ever.\n' },
    { 'test/planted.test.ts': "test('nobody waits in vain', () => {});\n" },
    { 'apps/bank/src/planted.ts': '// The client may send it when he likes.\n' },
  ],
};

/** The project's former words that stand for nothing in their ordinary sense here: they are gone from texts as well. */
const FORMER = [
  'harvest|bank[-_ ]?news|kept[-_ ]?verdict|check[-_ ]?record|said[-_ ]?word|also[-_ ]?rows',
  'patiently|mortal|asked[-_ ]?times|asked[-_ ]?rail|told[-_ ]?up[-_ ]?to|transfer[-_]inquir',
  'bank[-_]states|event[-_]counts|observations|ledger|neighbours|given a rest',
];
const FORMER_WORDS = new RegExp(String.raw`\b\w*(?:${FORMER.join('|')})\w*`, 'i');

const noFormerWords: Rule = {
  name: "the project's former words are gone from code, SQL, tests and documentation",
  check: (repository) => [
    ...findAll(repository, everywhere(repository), FORMER_WORDS),
    ...[...repository.keys()].filter((file) => FORMER_WORDS.test(file)),
  ],
  planted: [
    { 'apps/server/src/feed/planted.ts': 'const ledger = createLedger();\n' },
    { 'apps/server/src/postgres/planted.ts': "await query('select 1 from tiba.observations');\n" },
    { 'docs/planted.md': 'Clients that harvest names are slowed.\n' },
    { 'apps/server/src/bank-news/planted.ts': '' },
  ],
};

/** Ordinary words in a sentence, private ones as a name. */
const FORMER_AS_NAMES = [
  'said|told|heard|asked|asker|asking|fate|recently|refreshing|follower|followers',
  'endings|gate|trip|trips|weather|witness|liar|stranger|strangers|owed|patience',
  'goodbye|mortal|suspects',
];
const FORMER_NAMES = new RegExp(String.raw`(?<![.\w$])(?:${FORMER_AS_NAMES.join('|')})\b(?!\s*\()|\b\w+Parts\b`);

/** `parts` of a package (ECMA-376, part 2), of a request and the like are data, not what is passed in. */
const DATA_PARTS = /\b(?:WorkbookParts|openParts|PackageParts)\b/g;

const noFormerNames: Rule = {
  name: "no name in the code is one of the project's former words",
  check: (repository) =>
    select(repository, ['apps/', 'bench/', 'campaign/', 'packages/', 'test/'], ['.ts', '.tsx'])
      .filter((file) => !EXEMPT.test(file) && !file.includes('name-match'))
      .flatMap((file) => {
        const found = FORMER_NAMES.exec(namesOnly(textOf(repository, file)).replaceAll(DATA_PARTS, ' '));
        return found === null ? [] : [`${file}: ${found[0]}`];
      }),
  planted: [
    { 'apps/server/src/feed/planted.ts': 'const said = JSON.stringify(update);\n' },
    { 'test/planted.test.ts': 'let told: string[] = [];\n' },
    { 'apps/server/src/http/planted.ts': 'export interface FeedParts {}\n' },
  ],
};

function faultsOfPackages(repository: Repository, folder: string): string[] {
  const { dependencies, devDependencies } = JSON.parse(textOf(repository, `${folder}package.json`)) as Record<
    string,
    Record<string, string>
  >;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, version]) => !/^\d/.test(version));
  const lock = `${folder}package-lock.json`;
  return [
    ...loose.map(([name, version]) => `${folder}package.json: ${name} ${version}`),
    ...(/"resolved":/.test(textOf(repository, lock)) ? [lock] : []),
  ];
}

const exactDependencies: Rule = {
  name: 'the lockfile names no addresses, and dependencies have exact versions',
  check(repository) {
    return ['', 'docs/'].flatMap((folder) => faultsOfPackages(repository, folder));
  },
  planted: [
    { 'package.json': '{ "dependencies": { "pg": "^8.0.0" } }' },
    { 'docs/package.json': '{ "devDependencies": { "vitepress": "latest" } }' },
    { 'package-lock.json': '{ "packages": { "node_modules/pg": { "resolved": "https://registry.example/pg.tgz" } } }' },
  ],
};

export const LANGUAGE_RULES: readonly Rule[] = [plainEnglish, noFormerWords, noFormerNames, exactDependencies];
