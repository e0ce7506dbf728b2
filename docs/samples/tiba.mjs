import { createTibaClient } from '@tiba/client';

/** One client for the whole program: it holds the token and stays within the limits. */
export const tiba = createTibaClient({
  baseUrl: process.env.TIBA_URL,
  clientId: process.env.TIBA_CLIENT_ID,
  clientSecret: process.env.TIBA_CLIENT_SECRET,
});
