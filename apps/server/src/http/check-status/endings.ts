/** Who is called when this process stops. */
export interface Endings {
  /** Called at once when it stops already. */
  add(end: () => void): void;
  remove(end: () => void): void;
  all(): void;
}

export function createEndings(): Endings {
  const ends = new Set<() => void>();
  let stopping = false;
  return {
    add(end) {
      if (stopping) end();
      else ends.add(end);
    },
    remove: (end) => void ends.delete(end),
    all() {
      stopping = true;
      for (const end of ends) end();
    },
  };
}
