/**
 * The time as ISO 8601 UTC with milliseconds. Answers that leave within the same millisecond share one text, because
 * making it costs more than most of what else goes into an answer.
 */
export function createIsoClock(): () => string {
  let madeForMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== madeForMs) {
      madeForMs = nowMs;
      text = new Date(nowMs).toISOString();
    }
    return text;
  };
}
