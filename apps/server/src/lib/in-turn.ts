/** Runs one task at a time, in the order in which they come. A task that fails delays no other. */
export type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function createInTurn(): InTurn {
  let latest: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = latest.then(task);
    latest = result.catch(() => undefined);
    return result;
  };
}
