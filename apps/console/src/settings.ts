import { signal } from '@preact/signals';
import { call } from './api/request.ts';
import type { ConsoleSettings } from './generated/api.ts';

/** Of the installation; null until they are read. */
export const settings = signal<ConsoleSettings | null>(null);

/** Without them pages have no links to logs and traces: nothing else is lost. */
export async function loadSettings(): Promise<void> {
  settings.value = await call('getConsoleSettings', {}).catch(() => null);
}
