import { TibaError } from '@tiba/client';
import { tiba } from './tiba.mjs';

const [id] = process.argv.slice(2);
try {
  const { status, amount, failure_reason } = await tiba.waitForFinal(id, {
    deadline: new Date(Date.now() + 30 * 60_000),
  });
  console.log(status, amount, failure_reason);
} catch (error) {
  if (!(error instanceof TibaError) || error.error_code !== 'STILL_IN_PROCESS') throw error;
  console.log('still in PROCESS: look again later, and do not pay again');
}
