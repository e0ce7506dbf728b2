import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { CommanderError } from 'commander';
import { createProgram } from '../../apps/server/src/cli/manage.ts';

/**
 * What the documentation names, where no test pastes it: each command of `npm run manage` is taken as it is written, and
 * each address of the API is one of the description.
 */

const ROOT = new URL('../../', import.meta.url);
const read = (file: string): Promise<string> => readFile(new URL(file, ROOT), 'utf8');

const names = await readdir(new URL('docs/', ROOT));
const files = [
  'README.md',
  'SECURITY.md',
  ...names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
];
const pages = await Promise.all(files.map(async (file) => ({ file, text: await read(file) })));

const FENCED = /```sh\n([^]*?)```/g;
const MANAGE = /npm run manage (?:-s )?-- ([^`#|>\n]+)/g;
/** A word of the shell, with what it quotes. */
const WORD = /"([^"]*)"|(\S+)/g;

const commandsIn = (text: string): string[] =>
  [...text.replaceAll(/\\\n\s*/g, '').matchAll(MANAGE)].map(([, command = '']) => command.trim());

function silence(program: ReturnType<typeof createProgram>): void {
  program.configureOutput({ writeOut() {}, writeErr() {} });
  for (const each of program.commands) silence(each);
}

/** Why the command would be refused before it does anything; null when it would not. */
async function refusal(command: string): Promise<string | null> {
  let missing: string | null = null;
  const program = createProgram(({ command: { needsReason }, options }) => {
    if (needsReason === true && options.reason === undefined) missing = 'it has no --reason';
    return Promise.resolve();
  });
  silence(program);
  const words = [...command.matchAll(WORD)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  try {
    await program.parseAsync(words, { from: 'user' });
    return missing;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code.startsWith('commander.help') ? null : error.code;
  }
}

suite('npm run manage in the documentation', () => {
  test('each command of a block is taken as it stands there', async () => {
    const blocks = pages.flatMap(({ text }) => [...text.matchAll(FENCED)].map(([, block = '']) => block));
    const commands = blocks.flatMap(commandsIn);
    assert.ok(commands.length > 20);
    const refused = await Promise.all(commands.map(async (command) => [command, await refusal(command)]));
    assert.deepEqual(
      refused.filter(([, code]) => code !== null),
      [],
    );
  });

  test('each command that a sentence names exists, also where it leaves the client out', async () => {
    const commands = pages.flatMap(({ text }) => commandsIn(text.replaceAll(FENCED, '')));
    assert.ok(commands.length > 10);
    const refused = await Promise.all(commands.map(async (command) => [command, await refusal(command)]));
    assert.deepEqual(
      refused.filter(([, code]) => code !== null && code !== 'commander.missingArgument'),
      [],
    );
  });

  test('a command that does not exist is found', async () => {
    assert.equal(await refusal('client planted shop-one'), 'commander.unknownCommand');
    assert.equal(await refusal('client disable shop-one --planted'), 'commander.unknownOption');
    assert.equal(await refusal('client disable'), 'commander.missingArgument');
  });
});

interface Description {
  readonly paths: Readonly<Record<string, unknown>>;
}

const descriptions = await Promise.all(
  ['openapi.json', 'openapi-operator.json'].map(async (file) => JSON.parse(await read(file)) as Description),
);
const paths = descriptions
  .flatMap((description) => Object.keys(description.paths))
  .map((path) => new RegExp(`^${path.replaceAll(/\{[^}]*\}/g, '[^/]+')}$`));

/** Up to what cannot be in an address, or stands for a part of one. */
const ADDRESS = /\/(?:operator|api|feed)\/v1\/[^\s`"'?)|,;>:\\&…]*/g;

const unknownIn = (text: string): string[] =>
  [...text.matchAll(ADDRESS)]
    .map(([address]) => address.replace(/[.*]+$/, ''))
    // The beginning of addresses, or one that goes on with what a shell inserts.
    .filter((address) => !address.endsWith('/') && !paths.some((path) => path.test(address)));

test('each address of the API in the documentation exists', () => {
  assert.deepEqual(
    pages.flatMap(({ file, text }) => unknownIn(text).map((address) => `${file}: ${address}`)),
    [],
  );
  assert.deepEqual(unknownIn('GET /operator/v1/planted?a=b and /api/v1/banks.'), ['/operator/v1/planted']);
});
