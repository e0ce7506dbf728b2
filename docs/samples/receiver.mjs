import { createServer } from 'node:http';
import { expressCallbackHandler } from '@tiba/client/handlers';

const handle = expressCallbackHandler({
  secrets: process.env.TIBA_CALLBACK_SECRET,
  // Called for genuine callbacks only. Yours stores the callback, under a unique key on `id`.
  onCallback({ id, callback: { type, data } }) {
    console.log(`verified ${id}: ${type}`, data.reference_id ?? '', data.status ?? '');
  },
  onError: console.error,
});

createServer(handle).listen(process.env.PORT ?? 9000, '127.0.0.1', () => console.log('receiver is ready'));
