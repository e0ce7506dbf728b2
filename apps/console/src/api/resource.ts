import { useEffect, useRef, useState } from 'preact/hooks';
import { CallFailure } from './request.ts';

/** What a page has read so far. A page that reads again keeps what it shows until the answer is there. */
export interface Resource<T> {
  readonly data: T | null;
  readonly failure: CallFailure | null;
  readonly loading: boolean;
  reload(): void;
}

interface State<T> {
  readonly key: string;
  readonly data: T | null;
  readonly failure: CallFailure | null;
  readonly loading: boolean;
}

/**
 * Reads when `key` changes, and again every `pollMs` while the page is visible: a window in the background asks for
 * nothing. Only the latest call counts.
 */
export function useResource<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  pollMs: number | null = null,
): Resource<T> {
  const [state, setState] = useState<State<T>>({ key, data: null, failure: null, loading: true });
  const [round, setRound] = useState(0);
  const latest = useRef({ read, pollMs });
  latest.current = { read, pollMs };

  useEffect(() => {
    const ended = new AbortController();
    setState((before) =>
      before.key === key ? { ...before, loading: true } : { key, data: null, failure: null, loading: true },
    );
    void readWhileVisible(ended.signal, latest, (result) => setState({ key, loading: false, ...result }), setState);
    return () => ended.abort();
  }, [key, round]);

  const current = state.key === key ? state : { data: null, failure: null, loading: true };
  return { ...current, reload: () => setRound((before) => before + 1) };
}

async function readWhileVisible<T>(
  signal: AbortSignal,
  latest: { readonly current: { read(signal: AbortSignal): Promise<T>; readonly pollMs: number | null } },
  onRead: (result: { readonly data: T; readonly failure: null }) => void,
  change: (apply: (before: State<T>) => State<T>) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const data = await latest.current.read(signal);
      if (signal.aborted) return;
      onRead({ data, failure: null });
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof CallFailure ? error : new CallFailure(String(error), {});
      change((before) => ({ ...before, failure, loading: false }));
    }
    const { pollMs } = latest.current;
    if (pollMs === null) return;
    await pause(pollMs, signal);
    await untilVisible(signal);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

const untilVisible = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    signal.addEventListener('abort', check, { once: true });
    check();
  });
