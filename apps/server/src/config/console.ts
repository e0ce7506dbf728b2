import { httpUrl, setting } from './values.ts';

const PLACEHOLDERS = ['transaction_id', 'client_id', 'request_id', 'from', 'to'] as const;
const PLACEHOLDER = /\{([^{}]*)\}/g;

/** An address with at least one placeholder, and none that the console does not know. */
function linkTemplate(value: string): string {
  const names = [...value.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  const known: readonly string[] = PLACEHOLDERS;
  if (names.length === 0 || !names.every((name) => known.includes(name)))
    throw new Error(`an address with any of ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`);
  httpUrl(value.replaceAll(PLACEHOLDER, 'x'));
  return value;
}

/** What the operator's console links to (docs/console.md). */
export const CONSOLE_SETTINGS = {
  consoleLogUrl: setting(
    'TIBA_CONSOLE_LOG_URL',
    linkTemplate,
    'Where the [console](console.md#links-to-logs-and-traces) links to the logs of a transaction or a request: an ' +
      'address with `{transaction_id}`, `{client_id}`, `{request_id}`, `{from}` or `{to}`. Not set: no link.',
  ),
  consoleTraceUrl: setting('TIBA_CONSOLE_TRACE_URL', linkTemplate, 'The same for traces.'),
} as const;
