import { TibaError } from '@tiba/client';
import { tiba } from './tiba.mjs';

try {
  await tiba.checkStatus('INV/2026/999');
} catch (error) {
  if (!(error instanceof TibaError)) throw error;
  switch (error.error_code) {
    case 'TRANSACTION_NOT_FOUND':
      console.log('not known here, yet: compare the ID, and do not pay again before you know why');
      break;
    case 'RATE_LIMIT_EXCEEDED':
    case 'SERVICE_UNAVAILABLE':
      console.log(`try again in ${error.retryAfterMs} ms`);
      break;
    default:
      console.error(`${error.message} (request ${error.requestId})`);
      throw error;
  }
}
