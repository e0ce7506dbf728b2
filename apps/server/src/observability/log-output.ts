import fs from 'node:fs';
import net from 'node:net';

/** Where the lines of a log go. No write blocks the caller. */
export interface LogOutput {
  /** One at a time: the next one after `onWritten`, which gets the error, and the text that can be written again. */
  write(text: string | Buffer, onWritten: (error: Error | null, unwritten: Buffer | null) => void): void;
  /** Ends a write in progress. Standard output stays open. */
  close(): void;
}

/** A file, a terminal, or a device such as /dev/null. */
export function createFileOutput(fd: number, ownsFd: boolean): LogOutput {
  let isWriting = false;

  function writeFrom(buffer: Buffer, onWritten: (error: Error | null, unwritten: Buffer | null) => void): void {
    isWriting = true;
    fs.write(fd, buffer, (error, written) => {
      if (error === null && written < buffer.length) {
        writeFrom(buffer.subarray(written), onWritten);
        return;
      }
      isWriting = false;
      onWritten(error, error === null ? null : buffer);
    });
  }

  return {
    write: (text, onWritten) => writeFrom(typeof text === 'string' ? Buffer.from(text) : text, onWritten),
    close() {
      if (ownsFd && !isWriting) fs.closeSync(fd);
    },
  };
}

/**
 * A pipe or a socket, such as the one to a container runtime. Its peer may stop reading. `fs.write` would then hold a
 * thread of libuv's pool, and the process could not exit before that thread is released: a `net.Socket` does not block.
 * After an error, such as a closed reading end, the next write tries again.
 */
export function createStreamOutput(fd: number): LogOutput {
  let socket: net.Socket | null = null;

  function open(): net.Socket {
    const opened = new net.Socket({ fd, readable: false, writable: true });
    // The callback of the write gets the same error.
    opened.on('error', () => {
      if (socket === opened) socket = null;
    });
    return opened;
  }

  return {
    write(text, onWritten) {
      socket ??= open();
      // What a lost connection took of the text is unknown, so it is not written again.
      socket.write(text, (error) => onWritten(error ?? null, null));
    },
    // Libuv leaves the descriptors of standard output and standard error open.
    close: () => void socket?.destroy(),
  };
}
