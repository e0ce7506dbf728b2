import type { Rail } from '../rails/rail.ts';
import type { AppContext } from './app-context.ts';

/** The rails in use, and those that were replaced a moment ago. */
export interface OpenRails {
  /** Closes each rail in use that is not among these, once its inquiries in flight have ended. */
  replace(rails: readonly Rail[]): void;
}

/** More than the deadline of any inquiry. */
const RETIRED_MS = 10_000;

/** The rails of the options are in use first. */
export function openRails({ options, onClose }: AppContext): OpenRails {
  const { log } = options.logging;
  const retired = new Map<Rail, NodeJS.Timeout>();
  let used = options.rails;
  let isClosed = false;

  async function close(rail: Rail): Promise<void> {
    clearTimeout(retired.get(rail));
    retired.delete(rail);
    await rail
      .close()
      .catch((error: unknown) =>
        log.warn({ err: error, rail: rail.name }, 'closing a rail failed; going on without it'),
      );
  }

  onClose('rails', async () => {
    isClosed = true;
    await Promise.all([...used, ...retired.keys()].map(close));
  });
  return {
    replace(rails) {
      const isGone = (rail: Rail): boolean => !rails.includes(rail);
      for (const rail of used.filter(isGone)) {
        const timer = setTimeout(() => void close(rail), isClosed ? 0 : RETIRED_MS);
        retired.set(rail, timer.unref());
      }
      used = rails;
    },
  };
}
