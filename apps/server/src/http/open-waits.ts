import type { FastifyReply } from 'fastify';

/** Counts the requests of each client that wait or stream. */
export interface OpenWaits {
  /**
   * Counts one more, unless the client has `max` of them. It counts until its answer was sent or its client has gone.
   */
  admit(clientId: string, max: number, reply: FastifyReply): boolean;
}

export function createOpenWaits(): OpenWaits {
  const openByClient = new Map<string, number>();
  return {
    admit(clientId, max, { raw }) {
      const open = openByClient.get(clientId) ?? 0;
      if (open >= max) return false;
      // A response that is destroyed already emits no 'close' event.
      if (raw.destroyed) return true;
      openByClient.set(clientId, open + 1);
      raw.once('close', () => {
        const left = (openByClient.get(clientId) ?? 1) - 1;
        if (left === 0) openByClient.delete(clientId);
        else openByClient.set(clientId, left);
      });
      return true;
    },
  };
}
