import { plain } from './style.ts';

/** A line below what is printed, which is replaced again and again. */
export interface StatusLine {
  show(text: string): void;
  /** Removes it, so that a line can be printed in its place. */
  clear(): void;
  /** Shows it again after that. */
  restore(): void;
  /** Removes it at the end. */
  end(): void;
}

const CLEAR_LINE = '\r\u001B[K';

export function createStatusLine(stream: NodeJS.WriteStream): StatusLine {
  let shown = '';
  // A line that is wider than the terminal would go on in the next one, and stay there.
  const draw = (): void => void stream.write(CLEAR_LINE + shown.slice(0, stream.columns - 1));
  function clear(): void {
    if (shown !== '') stream.write(CLEAR_LINE);
  }
  return {
    show(text) {
      shown = plain(text);
      draw();
    },
    clear,
    restore() {
      if (shown !== '') draw();
    },
    end() {
      clear();
      shown = '';
    },
  };
}
