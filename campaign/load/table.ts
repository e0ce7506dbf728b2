import type { Part, PartOptions } from '../part.ts';
import { createSetting, type Setting } from './setting.ts';

/** A row of the table that a part prints. */
export interface Row {
  readonly name: string;
  run(setting: Setting, options: PartOptions): Promise<RowResult>;
}

export interface RowResult {
  readonly figures: readonly string[];
  /** Each says what is wrong, as a sentence without the row's name. */
  readonly problems: readonly string[];
}

/** Runs one row after the other, each for the `seconds` of the options. */
export const partOf =
  (rows: readonly Row[]): Part =>
  async (options) => {
    const setting = await createSetting();
    const problems: string[] = [];
    const figures: Record<string, string> = {};
    try {
      for (const { name, run } of rows) {
        const result = await run(setting, options);
        figures[name] = result.figures.join(', ');
        options.print(`${name}: ${figures[name]}`);
        problems.push(...result.problems.map((problem) => `${name}: ${problem}`));
      }
    } catch (error) {
      if (!options.signal.aborted) throw error;
    } finally {
      await setting.close();
    }
    return { findings: problems.map((what) => ({ what, seed: options.seed })), figures };
  };

/** A problem where the condition is not true. */
export const unless = (condition: boolean, problem: string): string[] => (condition ? [] : [problem]);
