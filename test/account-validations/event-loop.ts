/**
 * Watches for how long this thread is busy without a turn for anybody else, in processor time: a machine with other work does
 * not disturb it. Ends with the longest stretch, in ms.
 */
export function watchEventLoop(): () => number {
  let before = process.threadCpuUsage();
  let longestMs = 0;
  function look(): void {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (user + system) / 1_000);
  }
  const timer = setInterval(look, 1);
  return () => {
    look();
    clearInterval(timer);
    return longestMs;
  };
}
