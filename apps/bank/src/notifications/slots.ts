/** Lets a limited number of tasks run at once; the others wait in line. */
export interface Slots {
  run<Result>(task: () => Promise<Result>): Promise<Result>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;

  return {
    async run(task) {
      // A slot that is given back goes straight to the first in line, hence no counting there.
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
