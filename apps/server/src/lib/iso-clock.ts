/**
 * The time as ISO 8601 UTC with milliseconds. What is the same for a whole second is made once a second: making all of
 * it costs more than most of what else goes into an answer.
 */
export function createIsoClock(): () => string {
  let madeForSecond = Number.NaN;
  let upToSecond = '';
  return () => {
    const nowMs = Date.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== madeForSecond) {
      madeForSecond = second;
      upToSecond = new Date(nowMs).toISOString().slice(0, -4);
    }
    return `${upToSecond}${MILLISECONDS[nowMs - second * 1000]}Z`;
  };
}

const MILLISECONDS = Array.from({ length: 1000 }, (_, ms) => String(ms).padStart(3, '0'));
