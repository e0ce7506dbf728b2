import { adviceFor } from '../advice.ts';
import type { CallFailure } from '../api/request.ts';
import { linkFrom } from '../format.ts';
import { language, say, type Text } from '../preferences.ts';
import { settings } from '../settings.ts';
import { TEXTS } from '../texts.ts';
import { Copy } from './values.tsx';

const SECONDS_DEFAULT = 5;

const REQUEST_ID: Text = { en: 'Request ID', id: 'ID permintaan' };
/** The service has its messages in English only. */
const IN_ENGLISH = 'Pesan layanan, dalam bahasa Inggris:';

/** What went wrong, what to do, and the request ID by which an engineer finds it in the log. */
export function Failure({ failure, onRetry }: { readonly failure: CallFailure; readonly onRetry?: () => void }) {
  const advice = adviceFor(failure.status, failure.code);
  const log = linkFrom(settings.value?.log_url ?? null, { request_id: failure.requestId });
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{say(advice, { seconds: failure.retryAfterSeconds ?? SECONDS_DEFAULT })}</strong>
      </p>
      {failure.status !== 0 && (
        <p>
          {language.value === 'id' && IN_ENGLISH} <span lang="en">{failure.message}</span>
        </p>
      )}
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
