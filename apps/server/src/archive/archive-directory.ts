import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { ndjsonLines } from '../lib/ndjson.ts';
import type { ArchiveFile, ArchiveFileKey, NewArchiveFile } from '../postgres/archive-files.ts';

/** The files of the archive: NDJSON, compressed with zstd, in a folder for each client and month. */

/** They hold account numbers and names. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const SUFFIX = '.ndjson.zst';
const UNFINISHED = '.part';
/** In bytes. A callback with hundreds of attempts keeps a KiB of each answer. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const NAME_BYTES = 6;
const SEQUENCE_DIGITS = 16;

/**
 * A name that no file ever had: after a restored backup, files of the lost time must not be replaced. Of a client's
 * month, files with later events come later in the order of names.
 */
export function nameArchiveFile(clientId: string, month: string, lastSequence: number): NewArchiveFile {
  const position = String(lastSequence).padStart(SEQUENCE_DIGITS, '0');
  const name = `${position}-${randomBytes(NAME_BYTES).toString('hex')}${SUFFIX}`;
  return { clientId, month, path: path.posix.join(folderOf(clientId), month, name) };
}

/** What a file and the one that takes its place have in common: the client, the month, and the last event. */
export const placeOf = (file: string): string => file.slice(0, file.lastIndexOf('-'));

/** A client ID may contain anything, such as `..`. */
const folderOf = (clientId: string): string => encodeURIComponent(clientId).replaceAll('.', '%2E');

/**
 * Writes the lines under another name, waits until they are on the disk, and then gives the file its name. Nothing is
 * left when it fails.
 */
export async function writeArchiveFile(
  directory: string,
  file: NewArchiveFile,
  lines: AsyncIterable<string>,
): Promise<ArchiveFile> {
  const target = path.join(directory, file.path);
  const unfinished = `${target}${UNFINISHED}`;
  const folder = path.dirname(target);
  await mkdir(folder, { recursive: true, mode: DIRECTORY_MODE });
  try {
    const counted = countLines(lines);
    const sha256 = createHash('sha256');
    let bytes = 0;
    const measure = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sha256.update(chunk);
        bytes += chunk.length;
        done(null, chunk);
      },
    });
    await pipeline(
      Readable.from(counted.lines, { objectMode: false }),
      createZstdCompress(),
      measure,
      // `flush`: fsync before it closes.
      createWriteStream(unfinished, { flags: 'wx', mode: FILE_MODE, flush: true }),
    );
    await rename(unfinished, target);
    for (const each of [folder, path.dirname(folder), directory]) await syncDirectory(each);
    return { ...file, transactions: counted.count(), bytes, sha256: sha256.digest('hex') };
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

function countLines(lines: AsyncIterable<string>): { lines: AsyncIterable<string>; count: () => number } {
  let count = 0;
  async function* counting(): AsyncGenerator<string> {
    for await (const line of lines) {
      count += 1;
      yield `${line}\n`;
    }
  }
  return { lines: counting(), count: () => count };
}

/** Without it, a power cut may take the file's name. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Deletes the file, and what was written of it before a process died. */
export async function removeArchiveFile(directory: string, { path: file }: ArchiveFileKey): Promise<void> {
  const target = path.join(directory, file);
  await rm(target, { force: true });
  await rm(`${target}${UNFINISHED}`, { force: true });
}

/** A line of a file of the archive. */
export interface NumberedLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/**
 * The lines of the file. The last one comes only when the whole file has the stored checksum.
 * @throws ArchiveFileError when it is missing, was changed, or has another number of lines
 */
export async function* readArchiveFile(directory: string, file: ArchiveFile): AsyncGenerator<NumberedLine> {
  const target = path.join(directory, file.path);
  const sha256 = createHash('sha256');
  const source = createReadStream(target);
  source.on('data', (chunk) => sha256.update(chunk));
  const decompress = createZstdDecompress();
  source.on('error', (error) => decompress.destroy(error));
  let count = 0;
  let last: NumberedLine | undefined;
  try {
    for await (const { bytes } of ndjsonLines(source.pipe(decompress), LINE_BYTES_MAX)) {
      if (bytes === null) throw new Error(`a line is longer than ${LINE_BYTES_MAX} bytes`);
      if (last !== undefined) yield last;
      count += 1;
      last = { text: bytes.toString(), number: count };
    }
  } catch (error) {
    throw new ArchiveFileError(file, error);
  } finally {
    source.destroy();
  }
  if (sha256.digest('hex') !== file.sha256) throw new ArchiveFileError(file, new Error('it was changed'));
  if (count !== file.transactions) throw new ArchiveFileError(file, new Error(`it has ${count} transactions`));
  if (last !== undefined) yield last;
}

/** A file of the archive cannot be used. The message names it, and holds nothing of its content. */
export class ArchiveFileError extends Error {
  constructor({ path: file }: ArchiveFileKey, cause: unknown) {
    super(`${file}: ${describe(cause)}`, { cause });
  }
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if ('code' in cause && cause.code === 'ENOENT') return 'it is missing';
  return 'code' in cause && String(cause.code).startsWith('ZSTD') ? 'it was changed' : cause.message;
}

/** The paths of all files below the directory, also those that do not count. Empty when there is no directory. */
export async function listDirectory(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile() && withoutUnfinished(entry.name).endsWith(SUFFIX))
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** The path that a file has when it is written as a whole. */
export const withoutUnfinished = (file: string): string =>
  file.endsWith(UNFINISHED) ? file.slice(0, -UNFINISHED.length) : file;

/** Whether the directory exists and is one. @throws Error when this user may not look */
export async function isDirectory(directory: string): Promise<boolean> {
  const found = await stat(directory).catch((error: unknown) => {
    if (isAccessDenied(error)) throw error;
    return null;
  });
  return found?.isDirectory() === true;
}

/** Whether this user may not use a file, also where that is the cause of the error. */
export const isAccessDenied = (error: unknown): boolean =>
  error instanceof Error && (('code' in error && error.code === 'EACCES') || isAccessDenied(error.cause));

const CHECKSUMS = 'SHA256SUMS';
const SHA256_DIGITS = 64;

/** Until they are written again: what a process that dies leaves must not describe other files. */
export const removeChecksums = (directory: string): Promise<void> =>
  rm(path.join(directory, CHECKSUMS), { force: true });

export const hasChecksums = async (directory: string): Promise<boolean> =>
  (await stat(path.join(directory, CHECKSUMS)).catch(() => null)) !== null;

/** The checksums that were stored with the files, by path. Empty where there are none. */
export async function readChecksums(directory: string): Promise<Map<string, string>> {
  const text = await readFile(path.join(directory, CHECKSUMS), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  return new Map(text.split('\n').map((line) => [line.slice(SHA256_DIGITS + 2), line.slice(0, SHA256_DIGITS)]));
}

/**
 * Writes what `sha256sum -c SHA256SUMS` reads, for those who have the files and no database. Deletes what a killed
 * process has written of it.
 */
export async function writeChecksums(directory: string, files: AsyncIterable<ArchiveFile>): Promise<void> {
  const target = path.join(directory, CHECKSUMS);
  const unfinished = `${target}-${randomBytes(NAME_BYTES).toString('hex')}${UNFINISHED}`;
  async function* lines(): AsyncGenerator<string> {
    for await (const { sha256, path: file } of files) yield `${sha256}  ${file}\n`;
  }
  await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  for (const name of await readdir(directory)) {
    if (name.startsWith(`${CHECKSUMS}-`)) await rm(path.join(directory, name), { force: true });
  }
  await pipeline(Readable.from(lines()), createWriteStream(unfinished, { mode: FILE_MODE, flush: true }));
  await rename(unfinished, target);
  await syncDirectory(directory);
}
