import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { Client } from 'undici';
import type { SendResult } from './span-queue.ts';

export interface Collector {
  /** Sends one batch as OTLP over HTTP. Ends within 5 s, and never rejects. */
  send(spans: readonly ReadableSpan[]): Promise<SendResult>;
  close(): Promise<void>;
}

/** Of the whole exchange: a collector that hangs, or answers byte by byte, holds nothing longer. */
const TIMEOUT_MS = 5_000;
/** A collector's answer has a few dozen bytes. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** OTLP 1.x, "Retryable Response Codes". */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * A collector at this URL. OpenTelemetry's own exporter reads an answer of any length into memory
 * (open-telemetry/opentelemetry-js#6539), and says of no span whether it was taken.
 */
export function connectToCollector(url: string, headers: Readonly<Record<string, string>>): Collector {
  const { origin, pathname, search } = new URL(url);
  const client = new Client(origin, { maxResponseSize: ANSWER_BYTES_MAX });

  async function exchange(body: Uint8Array): Promise<SendResult> {
    const { statusCode, body: answer } = await client.request({
      method: 'POST',
      path: pathname + search,
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'Tiba' },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // Whatever becomes of the rest of its answer, the collector has said what it did with the spans.
    const text = await answer.text().catch(() => '');
    if (statusCode >= 200 && statusCode < 300) return { kind: 'taken', rejected: rejectedSpans(text) };
    const reason = `HTTP ${statusCode}`;
    return RETRYABLE.has(statusCode) ? { kind: 'unavailable', reason } : { kind: 'refused', reason };
  }

  return {
    async send(spans) {
      try {
        const body = JsonTraceSerializer.serializeRequest([...spans]);
        return body === undefined ? { kind: 'refused', reason: 'not serializable' } : await exchange(body);
      } catch (error) {
        return { kind: 'unavailable', reason: reasonOf(error) };
      }
    },
    close: () => client.destroy(),
  };
}

/** Of a partial success. Whatever else an answer says, the spans are gone. */
function rejectedSpans(answer: string): number {
  try {
    const { partialSuccess } = JSON.parse(answer) as { partialSuccess?: { rejectedSpans?: unknown } };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}

/** The code, because a message can quote what the collector has sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
