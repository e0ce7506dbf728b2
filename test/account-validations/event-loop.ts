/**
 * Measures how long this thread blocks its event loop, in processor time, so that other work on the machine does not
 * count. Call the result to stop; it returns the longest block in ms.
 */
export function watchEventLoop(): () => number {
  let before = process.threadCpuUsage();
  let longestMs = 0;
  function sample(): void {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (user + system) / 1_000);
  }
  const timer = setInterval(sample, 1);
  return () => {
    sample();
    clearInterval(timer);
    return longestMs;
  };
}
