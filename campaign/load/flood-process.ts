// Sends requests on many connections as fast as they are taken, whatever is answered: the worst client.

import { connect, type Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import type { FloodReport, FloodSettings } from './flood.ts';

const CHUNK_BYTES = 64 * 1024;
const RECONNECT_MS = 200;
/** An attacker is another machine. Here it shares the processors, so it yields them to the service. */
const NICENESS = 10;

process.once('disconnect', () => process.exit());
process.once('message', (settings: FloodSettings) => flood(settings));

function flood({ port, connections, request, isRead }: FloodSettings): void {
  setPriority(getPriority() + NICENESS);
  const chunk = Buffer.from(request.repeat(Math.ceil(CHUNK_BYTES / request.length)));
  const report: { -readonly [Key in keyof FloodReport]: FloodReport[Key] } = { sent: 0, received: 0, closed: 0 };

  function open(): void {
    const socket = connect({ host: '127.0.0.1', port });
    // A connection that is refused or reset is opened again.
    socket.on('error', () => {});
    socket.once('close', () => {
      report.closed += 1;
      setTimeout(open, RECONNECT_MS);
    });
    socket.once('connect', () => write(socket));
    if (isRead) socket.on('data', (bytes) => (report.received += bytes.length));
  }

  function write(socket: Socket): void {
    socket.write(chunk, (error) => {
      // Reset: it is opened again.
      if (error) return;
      report.sent += chunk.length;
      setImmediate(write, socket);
    });
  }

  for (let index = 0; index < connections; index += 1) open();
  process.on('message', () => process.send?.(report));
}
