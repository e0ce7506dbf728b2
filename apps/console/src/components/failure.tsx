import type { CallFailure } from '../api/request.ts';
import { linkFrom } from '../format.ts';
import { say, type Text } from '../preferences.ts';
import { settings } from '../settings.ts';
import { TEXTS } from '../texts.ts';
import { Copy } from './values.tsx';

const ADVICE = {
  offline: {
    en: 'The service did not answer. Check your connection, then try again.',
    id: 'Layanan tidak menjawab. Periksa koneksi Anda, lalu coba lagi.',
  },
  401: { en: 'Your login has ended. Log in again.', id: 'Sesi Anda berakhir. Silakan masuk lagi.' },
  403: {
    en: 'Your role does not allow this. Ask a colleague who has the role, or who grants roles.',
    id: 'Peran Anda tidak mengizinkan ini. Minta bantuan rekan yang memiliki peran itu, atau pemberi peran.',
  },
  404: {
    en: 'It is not there. Check the address, or search for it.',
    id: 'Tidak ditemukan. Periksa alamatnya, atau cari.',
  },
  409: { en: 'Something else has changed it meanwhile. Look at it again.', id: 'Data sudah berubah. Lihat lagi.' },
  429: {
    en: 'Too many requests. Wait {seconds} s, then try again.',
    id: 'Terlalu banyak permintaan. Tunggu {seconds} d.',
  },
  503: {
    en: 'The service cannot answer at the moment. Nothing was changed. Try again in {seconds} s.',
    id: 'Layanan sedang tidak bisa menjawab. Tidak ada yang berubah. Coba lagi dalam {seconds} d.',
  },
  wrong: { en: 'Correct the request as the message says.', id: 'Perbaiki permintaan sesuai pesan ini.' },
  broken: {
    en: 'This is a fault of the service. Give the request ID to an engineer.',
    id: 'Ini kesalahan layanan. Berikan ID permintaan ini kepada engineer.',
  },
} as const satisfies Record<string, Text>;

const SECONDS_DEFAULT = 5;

function adviceFor({ status, retryAfterSeconds }: CallFailure): string {
  const seconds = retryAfterSeconds ?? SECONDS_DEFAULT;
  if (status === 0) return say(ADVICE.offline);
  if (status === 401 || status === 403 || status === 404 || status === 409) return say(ADVICE[status]);
  if (status === 429 || status === 503) return say(ADVICE[status], { seconds });
  return say(status < 500 ? ADVICE.wrong : ADVICE.broken);
}

const REQUEST_ID: Text = { en: 'Request ID', id: 'ID permintaan' };

/** What went wrong, what to do, and the request ID by which an engineer finds it in the log. */
export function Failure({ failure, onRetry }: { readonly failure: CallFailure; readonly onRetry?: () => void }) {
  const log = linkFrom(settings.value?.log_url ?? null, { request_id: failure.requestId });
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{adviceFor(failure)}</strong>
      </p>
      {failure.status !== 0 && <p>{failure.message}</p>}
      {failure.requestId !== null && (
        <p class="small">
          {say(REQUEST_ID)} <code>{failure.requestId}</code> <Copy text={failure.requestId} />{' '}
          {log !== null && (
            <a href={log} target="_blank" rel="noreferrer">
              {say(TEXTS.logs)}
            </a>
          )}
        </p>
      )}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {say(TEXTS.retry)}
        </button>
      )}
    </div>
  );
}
