import { Duplex, type Transform } from 'node:stream';

/** Decodes one frame (zstd) or member (gzip). */
export type FrameDecoder = Transform & {
  /** The compressed bytes that it has read. */
  readonly bytesWritten: number;
};

/**
 * Decodes a body of one frame or of several (RFC 8878, section 3; RFC 1952, section 2.2). A decoder of Node ends with
 * a frame when the next one is in the same chunk, and drops the rest of the chunk. So the rest goes to a decoder of its
 * own. What is no frame is then an error of that decoder.
 */
export class FramesDecoder extends Duplex {
  readonly #open: () => FrameDecoder;
  #decoder: FrameDecoder;
  /** Of the frames before the current one. */
  #earlierBytes = 0;

  constructor(open: () => FrameDecoder) {
    // What is decoded waits in the decoder.
    super({ readableHighWaterMark: 1 });
    this.#open = open;
    this.#decoder = this.#begin();
  }

  /** The compressed bytes that were decoded. */
  get bytesWritten(): number {
    return this.#earlierBytes + this.#decoder.bytesWritten;
  }

  #begin(): FrameDecoder {
    const decoder = this.#open();
    decoder.on('data', (chunk) => {
      if (!this.push(chunk)) decoder.pause();
    });
    decoder.on('error', (error) => this.destroy(error));
    return decoder;
  }

  override _read(): void {
    this.#decoder.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#decode(chunk, done);
  }

  #decode(chunk: Buffer, done: () => void): void {
    const decoder = this.#decoder;
    const writtenBefore = decoder.bytesWritten;
    decoder.write(chunk, (error) => {
      // The decoder has emitted the error.
      if (error) return;
      const written = decoder.bytesWritten - writtenBefore;
      if (written === chunk.length) done();
      else if (decoder.bytesWritten === 0) this.destroy(nothingRead());
      else this.#afterEnd(() => this.#decodeNext(chunk.subarray(written), done));
    });
  }

  #decodeNext(rest: Buffer, done: () => void): void {
    this.#earlierBytes += this.#decoder.bytesWritten;
    this.#decoder.destroy();
    this.#decoder = this.#begin();
    this.#decode(rest, done);
  }

  override _final(done: () => void): void {
    this.#decoder.end();
    this.#afterEnd(() => {
      this.push(null);
      done();
    });
  }

  /** When all that the decoder has decoded is passed on. */
  #afterEnd(action: () => void): void {
    if (this.#decoder.readableEnded) action();
    else this.#decoder.once('end', action);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#decoder.destroy();
    done(error);
  }
}

/** Another decoder would not read it either. With zlib's code. */
const nothingRead = (): Error => Object.assign(new Error('the decoder read nothing'), { code: 'Z_DATA_ERROR' });
