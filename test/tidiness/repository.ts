import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Every file that git tracks or would track, by its path from the root, with its text. */
export type Repository = ReadonlyMap<string, string>;

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The service's own code. */
export const SERVER = 'apps/server/src/';

export function readRepository(): Repository {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(path.join(ROOT, file)));
  return new Map(files.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
}

/** The repository with these files added or replaced: for rules that are shown a violation. */
export const withFiles = (repository: Repository, files: Readonly<Record<string, string>>): Repository =>
  new Map([...repository, ...Object.entries(files)]);

/** A rule looks at files, says what violates it, and knows a violation that it must find. */
export interface Rule {
  readonly name: string;
  /** One line for each violation: the file, and what is wrong where that is not the rule's name. */
  check(repository: Repository): string[];
  /** Each is a set of files with which the repository violates the rule. */
  readonly planted: readonly Readonly<Record<string, string>>[];
}

/** Paths that lie in one of the folders and end with one of the extensions. A rule that looks at nothing is broken. */
export function select(repository: Repository, folders: readonly string[], extensions: readonly string[]): string[] {
  const selected = [...repository.keys()].filter(
    (file) =>
      folders.some((folder) => file.startsWith(folder)) && extensions.some((extension) => file.endsWith(extension)),
  );
  if (selected.length === 0) throw new Error(`no file in ${folders.join(', ')} ends with ${extensions.join(', ')}`);
  return selected;
}

export const textOf = (repository: Repository, file: string): string => repository.get(file) ?? '';

/** The modules that a file imports: relative ones as paths from the root, packages by their name. */
export function importsOf(repository: Repository, file: string): string[] {
  const found = textOf(repository, file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g);
  return [...found].map(([, name = '']) =>
    name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name,
  );
}

/** Code without comments, and with its texts emptied: what is left are names. Expressions in templates are lost too. */
export const namesOnly = (text: string): string =>
  text.replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\w])\/\/.*|`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, ' ');
