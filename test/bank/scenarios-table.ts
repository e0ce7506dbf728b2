// The table of transfer scenarios, as docs/simulated-bank.md must contain it.

import { SNAP_CASES } from '../../apps/bank/src/snap/response-codes.ts';
import {
  DEFAULT_SCENARIO,
  type Step,
  TRANSFER_SCENARIOS,
  type TransferScenario,
} from '../../apps/bank/src/transfers/scenario.ts';

/** One row for each scenario, the default one last. */
export function scenarioRows(): string[] {
  return [...TRANSFER_SCENARIOS, DEFAULT_SCENARIO].map((scenario) => {
    const ending = scenario === DEFAULT_SCENARIO ? scenario.ending : `\`${scenario.ending}\``;
    const cells = [
      ending,
      scenario.outcome,
      printSteps(scenario.inquiry),
      printReason(scenario),
      printNotifications(scenario),
    ];
    return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |');
  });
}

function printReason({ reason }: TransferScenario): string {
  if (reason === null) return '';
  const { status, code, message } = SNAP_CASES[reason];
  return `\`${status}ss${code}\` ${message.replace('. [?]', '')}`;
}

function printNotifications({ notifications }: TransferScenario): string {
  return notifications.length === 0 ? 'none' : printSteps(notifications);
}

function printSteps(steps: readonly Step[]): string {
  return steps.map(({ afterSeconds, status }) => `\`${status}\` ${printTime(afterSeconds)}`).join(', ');
}

function printTime(seconds: number): string {
  if (seconds === 0) return 'at once';
  return seconds < 120 ? `after ${seconds} s` : `after ${seconds / 60} min`;
}
