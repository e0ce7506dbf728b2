import type { DisabledReason, UnhealthyCallbackEndpoint } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';

/** Callback endpoints that get nothing, or fail: why, and what to do. */

const REASONS: Readonly<Partial<Record<DisabledReason, Text>>> = {
  client: {
    en: 'The client has disabled it. Ask the client before you enable it.',
    id: 'Dinonaktifkan oleh klien. Tanyakan kepada klien sebelum mengaktifkan.',
  },
  operator: {
    en: 'An operator has disabled it. The audit says who and why.',
    id: 'Dinonaktifkan oleh operator. Audit mencatat siapa dan mengapa.',
  },
  gone: {
    en: 'The receiver answered 410 Gone. Enable it once the client has repaired it.',
    id: 'Penerima menjawab 410 Gone. Aktifkan setelah diperbaiki klien.',
  },
  failing: {
    en: 'Every attempt failed for 5 days. Enable it once the client has repaired it.',
    id: 'Semua percobaan gagal selama 5 hari. Aktifkan setelah diperbaiki klien.',
  },
};

/** A reason that is new in the service appears as it is named there. */
export function reasonText(reason: DisabledReason | null): string {
  const text = reason === null ? undefined : REASONS[reason];
  return text === undefined ? (reason ?? '–') : say(text);
}

/** Not one that a person or the client has disabled: that was meant. */
export const isTrouble = ({ disabled_reason: reason }: UnhealthyCallbackEndpoint): boolean =>
  reason !== 'client' && reason !== 'operator';
