const HEAD_END = Buffer.from('\r\n\r\n');
const STATUS_OFFSET = 'HTTP/1.1 '.length;

/** Calls back with the status of each answer that has arrived whole. Understands only answers with a length. */
export function createAnswerReader(onAnswer: (status: number) => void): (bytes: Buffer) => void {
  let held: Buffer = Buffer.alloc(0);
  return (bytes) => {
    const received = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    let start = 0;
    for (;;) {
      const headEnd = received.indexOf(HEAD_END, start);
      if (headEnd === -1) break;
      const head = received.toString('latin1', start, headEnd);
      const end = headEnd + HEAD_END.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (received.length < end) break;
      start = end;
      onAnswer(Number(head.slice(STATUS_OFFSET, STATUS_OFFSET + 3)));
    }
    held = received.subarray(start);
  };
}
