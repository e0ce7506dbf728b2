import type { Event } from '../../../client/src/index.ts';
import { localTime, styleOf } from '../output/format.ts';
import type { Output } from '../output/output.ts';
import { plain } from '../output/style.ts';

/** An event in one line. */
export function describeEvent(event: Event, { paint }: Pick<Output, 'paint'>): string {
  const status = statusOf(event);
  const style = styleOf(status);
  const painted = style === null ? plain(status) : paint(style, status);
  return `${event.sequence}  ${localTime(event.timestamp)}  ${plain(event.type)}  ${subjectOf(event)}  ${painted}`;
}

/** What the event is about, in the client's own words where it has some. */
export function subjectOf({ data }: Event): string {
  if ('reference_id' in data) return plain(data.reference_id);
  if ('validation_id' in data) return plain(data.validation_id);
  return plain(data.bank_name);
}

const statusOf = ({ data }: Event): string => ('state' in data ? data.state : data.status);
