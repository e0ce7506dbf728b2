import { closeSync, createReadStream, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { ENTRY_START, type JournalEntry, parseEntry, serializeEntry } from './journal-entry.ts';

/** A file that survives restarts of the bank: one line for each entry. */
export interface Journal {
  /** Appends an entry; false if it could not be written, in which case the file is unchanged. */
  append(entry: JournalEntry): boolean;
  close(): void;
}

/** The file cannot be used; the message gives the reason to the person who started the bank. */
export class JournalError extends Error {}

// No entry is longer than its request, which has 16 KiB at most.
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
// The journal contains account numbers and amounts: only its owner may read it.
const OWNER_ONLY = 0o600;

export const NO_JOURNAL: Journal = { append: () => true, close: () => {} };

/**
 * Opens a journal, creating the file if there is none, and passes its entries to `onEntry` in order. An incomplete last
 * line is truncated: the process was killed during the write, so the request was never answered.
 */
export async function openJournal(file: string, onEntry: (entry: JournalEntry) => void): Promise<Journal> {
  const descriptor = open(file);
  try {
    ftruncateSync(descriptor, await readEntries(file, onEntry));
  } catch (error) {
    closeSync(descriptor);
    throw error instanceof JournalError ? error : cannotUse(error);
  }
  return { append: (entry) => append(descriptor, entry), close: () => closeSync(descriptor) };
}

function open(file: string): number {
  try {
    return openSync(file, 'a', OWNER_ONLY);
  } catch (error) {
    throw cannotUse(error);
  }
}

/** Reads all entries. Returns the length of all complete lines, in bytes. */
async function readEntries(file: string, onEntry: (entry: JournalEntry) => void): Promise<number> {
  let completeBytes = 0;
  let lineNumber = 0;
  let partialLine: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file)) {
    const bytes: Buffer = Buffer.concat([partialLine, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      lineNumber += 1;
      onEntry(readEntry(bytes.toString('utf8', start, end), lineNumber));
      start = end + 1;
    }
    completeBytes += start;
    partialLine = bytes.subarray(start);
    if (partialLine.length > LINE_BYTES_MAX) throw notAnEntry(lineNumber + 1);
  }
  // A file that is not a journal, configured by mistake, must not lose its last line.
  const partialLineStart = partialLine.toString('utf8', 0, ENTRY_START.length);
  if (!ENTRY_START.startsWith(partialLineStart)) throw notAnEntry(lineNumber + 1);
  return completeBytes;
}

function readEntry(line: string, lineNumber: number): JournalEntry {
  const entry = parseEntry(line);
  if (entry === null) throw notAnEntry(lineNumber);
  return entry;
}

function cannotUse(error: unknown): JournalError {
  return new JournalError(`The simulated bank cannot use BANK_JOURNAL_FILE: ${messageOf(error)}.`, { cause: error });
}

function notAnEntry(lineNumber: number): JournalError {
  return new JournalError(`Line ${lineNumber} of BANK_JOURNAL_FILE is not an entry of the simulated bank's journal.`);
}

/** Writes synchronously, so that the entry survives a killed process before the request is answered. */
function append(descriptor: number, entry: JournalEntry): boolean {
  const line = Buffer.from(serializeEntry(entry));
  try {
    const written = writeSync(descriptor, line);
    if (written === line.length) return true;
    // A full disk may accept a part of the line: the next entry must not be appended to it.
    ftruncateSync(descriptor, fstatSync(descriptor).size - written);
    process.stderr.write('The simulated bank cannot write to BANK_JOURNAL_FILE: no space left for the entry.\n');
  } catch (error) {
    process.stderr.write(`The simulated bank cannot write to BANK_JOURNAL_FILE: ${messageOf(error)}.\n`);
  }
  return false;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
