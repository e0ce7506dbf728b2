import { closeSync, createReadStream, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { ENTRY_START, type JournalEntry, parseEntry, serializeEntry } from './journal-entry.ts';

/** A file that outlives the bank's process: one line for each entry. */
export interface Journal {
  /** Writes an entry; false when it could not be written, after which the file is as it was before. */
  append(entry: JournalEntry): boolean;
  close(): void;
}

/** The file cannot be used; the message says why, to the person who started the bank. */
export class JournalError extends Error {}

// No entry is longer than the request it came from, which has 16 KiB at the most.
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
// The journal names accounts and amounts: nobody but its owner reads it.
const OWNER_ONLY = 0o600;

export const NO_JOURNAL: Journal = { append: () => true, close: () => {} };

/**
 * Opens a journal, making the file if there is none, and hands over its entries in their order. What stands after the
 * last line end was torn off by a death in the middle of writing and never answered: it is cut off.
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

/** Length in bytes of all whole lines. */
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
  // Somebody else's file, given by mistake, must not lose its last line.
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
  return new JournalError(`Line ${lineNumber} of BANK_JOURNAL_FILE is no entry of the simulated bank's journal.`);
}

/** Waits for the system call, so that the entry survives the process before anybody is answered. */
function append(descriptor: number, entry: JournalEntry): boolean {
  const line = Buffer.from(serializeEntry(entry));
  try {
    const written = writeSync(descriptor, line);
    if (written === line.length) return true;
    // A full disk takes a part of a line: the next entry must not be glued to it.
    ftruncateSync(descriptor, fstatSync(descriptor).size - written);
    process.stderr.write('The simulated bank cannot write to BANK_JOURNAL_FILE: no room for a whole line.\n');
  } catch (error) {
    process.stderr.write(`The simulated bank cannot write to BANK_JOURNAL_FILE: ${messageOf(error)}.\n`);
  }
  return false;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
