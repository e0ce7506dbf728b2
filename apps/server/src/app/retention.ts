import { type RetentionOptions, startRetention } from '../postgres/retention.ts';
import type { AppContext } from './app-context.ts';

/** Deletes old records from now on. A paused service deletes nothing: what is looked at in an old backup must stay. */
export function openRetention(
  { options: { settings, logging }, onClose }: AppContext,
  part: string,
  retention: Omit<RetentionOptions, 'log'>,
): void {
  if (settings.paused) return;
  onClose(part, startRetention({ ...retention, log: logging.log }).stop);
}
