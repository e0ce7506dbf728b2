import type { ServerResponse } from 'node:http';
import { type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.ts';

/** How a client's receiver answers callbacks. */
export const RECEIVER_BEHAVIORS = ['accepts', 'fails', 'hangs', 'disconnects', 'is gone'] as const;
export type ReceiverBehavior = (typeof RECEIVER_BEHAVIORS)[number];

const STATUSES = { accepts: 204, fails: 500, 'is gone': 410 } as const;

/** A client's server with one path for each endpoint. */
export interface ClientReceiver {
  /** The URL of the endpoint with this path. */
  url(path: string): string;
  /** The service may have been killed before it read a response that was written. */
  readonly requests: readonly ReceivedRequest[];
  /** Applies from now on; requests that hang on this path are disconnected. Every path accepts at first. */
  setBehavior(path: string, behavior: ReceiverBehavior): void;
  /** Calls when the next callback has arrived on this path, before or after it is answered. */
  onNext(path: string, moment: 'before its answer' | 'after its answer', call: () => void): void;
  close(): Promise<void>;
}

export async function startClientReceiver(): Promise<ClientReceiver> {
  const behaviors = new Map<string, ReceiverBehavior>();
  const hanging = new Map<string, Set<ServerResponse>>();
  const before = new Map<string, () => void>();
  const after = new Map<string, () => void>();

  const { url, requests, close } = await startHttpReceiver({
    respond(response, { path }) {
      take(before, path)?.();
      const behavior = behaviors.get(path) ?? 'accepts';
      if (behavior === 'disconnects') response.destroy();
      else if (behavior === 'hangs') hanging.set(path, (hanging.get(path) ?? new Set()).add(response));
      else response.writeHead(STATUSES[behavior]).end(() => take(after, path)?.());
    },
  });

  return {
    url: (path) => url + path,
    requests,
    setBehavior(path, behavior) {
      behaviors.set(path, behavior);
      for (const response of take(hanging, path) ?? []) response.destroy();
    },
    onNext: (path, moment, call) => void (moment === 'before its answer' ? before : after).set(path, call),
    close,
  };
}

function take<Value>(map: Map<string, Value>, key: string): Value | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}
