// The table of transfers' courses, as the documentation has to print it.

import { SNAP_CASES } from '../../apps/bank/src/snap/response-codes.ts';
import { COURSES, type Course, type Step, USUAL_COURSE } from '../../apps/bank/src/transfers/course.ts';

/** One line for each course, the usual one last. */
export function courseRows(): string[] {
  return [...COURSES, USUAL_COURSE].map((course) => {
    const ending = course === USUAL_COURSE ? course.ending : `\`${course.ending}\``;
    const cells = [ending, course.outcome, printSteps(course.inquiry), printReason(course), printNotifications(course)];
    return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  });
}

function printReason({ reason }: Course): string {
  if (reason === null) return '';
  const { status, code, message } = SNAP_CASES[reason];
  return `\`${status}ss${code}\` ${message.replace('. [?]', '')}`;
}

function printNotifications({ notifications }: Course): string {
  return notifications.length === 0 ? 'none' : printSteps(notifications);
}

function printSteps(steps: readonly Step[]): string {
  return steps.map(({ afterSeconds, status }) => `\`${status}\` ${printTime(afterSeconds)}`).join(', ');
}

function printTime(seconds: number): string {
  if (seconds === 0) return 'at once';
  return seconds < 120 ? `after ${seconds} s` : `after ${seconds / 60} min`;
}
