import { totalmem } from 'node:os';
import { port } from './socket.ts';

export interface ServerSettings {
  readonly serverName: string;
  readonly socketDirectory: string;
  readonly durable: boolean;
  /** By default what suits the memory of the machine. */
  readonly sharedBuffersMb?: number | undefined;
}

/** The server's settings as command-line arguments: these have priority over postgresql.conf. */
export function settingsOf({
  serverName,
  socketDirectory,
  durable,
  sharedBuffersMb = suitableBuffersMb(),
}: ServerSettings): string[] {
  const settings: Record<string, string | number> = {
    // No TCP: nothing to scan, no password to keep.
    listen_addresses: '',
    // A list of directories, hence the quotes: the path may contain a comma.
    unix_socket_directories: `"${socketDirectory}"`,
    // In addition to the directory's permissions; root can connect anyway.
    unix_socket_permissions: '0700',
    port,
    // In the title of every process of the server: a killed one is recognized by it (postmaster.ts).
    cluster_name: serverName,
    // For a few services, of up to 16 connections each, and administrative commands: the benchmark starts five.
    max_connections: 120,
    shared_buffers: `${sharedBuffersMb}MB`,
    // Transactions in PROCESS and callbacks that wait are rows for seconds. Their space is used again after a vacuum:
    // their tables grow to what is written between two looks of autovacuum, which are a minute apart by default.
    autovacuum_naptime: '5s',
    // An embedded server has no replicas, so its write-ahead log need not contain data for them. As safe after a crash.
    wal_level: 'minimal',
    max_wal_senders: 0,
    // Times are UTC everywhere, also in the log.
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The messages are matched (server.ts) and searched for: always in English.
    lc_messages: 'C',
    // An operator does not need a line about a checkpoint every few minutes.
    log_checkpoints: 'off',
    // Failing statements and error details quote values: names and account numbers, which no log may contain.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_line_prefix: '%m [%p] ',
    // Durable: committed data survives a power cut. These are the server's defaults, set here so that no
    // postgresql.conf weakens them. Off is for tests, which delete their data; even then a killed process loses
    // nothing.
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: 'on',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const MB = 1024 * 1024;
const SHARED_BUFFERS = { partOfMemory: 1 / 8, minMb: 128, maxMb: 1_024 };

/**
 * PostgreSQL's buffer cache: a part of the machine's memory, or of the memory limit of this process. It is allocated as
 * data needs it, and the maximum holds a million transactions. With PostgreSQL's default of 128 MB a look-up among a
 * million costs half as much again, because most pages are then copied in from the operating system's cache.
 */
function suitableBuffersMb(): number {
  const { partOfMemory, minMb, maxMb } = SHARED_BUFFERS;
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.min(Math.max(Math.floor((bytes * partOfMemory) / MB), minMb), maxMb);
}
