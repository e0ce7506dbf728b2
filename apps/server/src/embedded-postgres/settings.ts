import { totalmem } from 'node:os';
import { port } from './socket.ts';

/** The server's settings, for its command line: there they win over whatever postgresql.conf says. */
export function settingsOf(serverName: string, socketDirectory: string, durable: boolean): string[] {
  const settings: Record<string, string | number> = {
    // No TCP: nothing to scan, no password to keep.
    listen_addresses: '',
    // A list of directories, hence the quotes: the path may hold a comma.
    unix_socket_directories: `"${socketDirectory}"`,
    // Together with the directory; root can connect anyway.
    unix_socket_permissions: '0700',
    port,
    // In the title of every process of the server: how a killed one is recognised (postmaster.ts).
    cluster_name: serverName,
    // One service with one pool, and a few administrative commands beside it.
    max_connections: 50,
    shared_buffers: `${sharedBuffersMb()}MB`,
    // For look-ups of microseconds JIT costs more than it gives.
    jit: 'off',
    // Nothing replicates from an embedded server, so its log need not carry what replicas need. As safe after a crash.
    wal_level: 'minimal',
    max_wal_senders: 0,
    // Times are UTC everywhere, in the log as well.
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The messages are matched (server.ts) and searched for: always in English.
    lc_messages: 'C',
    // Only what an operator would want to read; a checkpoint every few minutes is not.
    log_checkpoints: 'off',
    // Failing statements and the details of errors quote values: names and account numbers, which no log may hold.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_line_prefix: '%m [%p] ',
    // Durable means that what was committed survives a power cut; these are the server's defaults, spelled out so that
    // no postgresql.conf weakens them. Off is for tests, which throw their data away; a killed process loses nothing then.
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: 'on',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const MB = 1024 * 1024;
const SHARED_BUFFERS = { partOfMemory: 1 / 8, minMb: 128, maxMb: 1_024 };

/**
 * What PostgreSQL keeps in memory of its own: a part of the machine's, or of what this process may use. It is taken as data
 * needs it, and the most holds a million transactions. With PostgreSQL's default of 128 MB a look-up among as many, most of which are
 * then copied in from the operating system's cache, costs half as much again.
 */
function sharedBuffersMb(): number {
  const { partOfMemory, minMb, maxMb } = SHARED_BUFFERS;
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  return Math.min(Math.max(Math.floor((bytes * partOfMemory) / MB), minMb), maxMb);
}
