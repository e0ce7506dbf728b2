/**
 * A part of the campaign: it makes trouble for a real service for some time, and judges what the service did. A part
 * starts everything that it needs and ends it before it returns; its load stays on 127.0.0.1.
 */
export type Part = (options: PartOptions) => Promise<Verdict>;

export interface PartOptions {
  /** How long to make trouble, in seconds. Starting, judging and stopping come on top. */
  readonly seconds: number;
  /** Everything that the part draws follows from it, so the same seed makes the same plan again. */
  readonly seed: number;
  /** True when the user gave the seed: a part that draws a seed for each of its rounds then plays this one alone. */
  readonly isReplay: boolean;
  /** Aborts when the user stops the campaign: end what was started, and return early. */
  readonly signal: AbortSignal;
  /** Prints a line of progress; at least one every 10 seconds. */
  readonly print: (line: string) => void;
}

export interface Verdict {
  /** Each a sentence that says what is wrong. None: the service kept its promises. */
  readonly findings: readonly Finding[];
  /** What was done and measured, by name, in the order in which it is printed. */
  readonly figures: Readonly<Record<string, number | string>>;
}

export interface Finding {
  readonly what: string;
  /** The seed that makes the same plan again. */
  readonly seed: number;
}
