import { readFile, writeFile } from 'node:fs/promises';
import { tiba } from './tiba.mjs';

const file = new URL('cursor.json', import.meta.url);
const cursor = JSON.parse(await readFile(file, 'utf8').catch(() => 'null'));

for await (const event of tiba.events.list(cursor)) {
  if (event.type.startsWith('disbursement.')) console.log(event.sequence, event.type, event.data.reference_id);
  // In your database: in the same transaction as what you have done with the event.
  await writeFile(file, JSON.stringify({ sequence: event.sequence, event_id: event.event_id }));
}
