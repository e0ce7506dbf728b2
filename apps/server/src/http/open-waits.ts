import type { FastifyReply } from 'fastify';

/** Counts answers that stay open, for each client. */
export interface OpenWaits {
  /** Whether there is room for one more. It has its place until its answer has left, or its client has. */
  admit(clientId: string, max: number, reply: FastifyReply): boolean;
}

export function createOpenWaits(): OpenWaits {
  const openByClient = new Map<string, number>();
  return {
    admit(clientId, max, { raw }) {
      const following = openByClient.get(clientId) ?? 0;
      if (following >= max) return false;
      // Whoever has left already closes no more.
      if (raw.destroyed) return true;
      openByClient.set(clientId, following + 1);
      raw.once('close', () => {
        const left = (openByClient.get(clientId) ?? 1) - 1;
        if (left === 0) openByClient.delete(clientId);
        else openByClient.set(clientId, left);
      });
      return true;
    },
  };
}
