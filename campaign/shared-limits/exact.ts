import { type RowResult, unless } from '../load/table.ts';
import type { PartOptions } from '../part.ts';
import { accountCheck, admittedOf, mostArrivals, sendAll, sendCount, statusCheck } from './requests.ts';
import { type Processes, QUOTA_PER_SECOND, type SharedSetting } from './setting.ts';

const REQUESTS = 1_000;
const LIMITS = { 'check-status': 120, 'check-account': 100 };
const PLENTY = 10_000_000;
const ACCOUNTS_PER_DAY = 30;
/** With one process: docs/operating.md, `sequential_numbers`. */
const BLOCKED_AFTER = 200;
/** Inquiries are counted where they are sent, and the network delays one more than another. */
const SECOND_MS = 995;
const QUOTA_SECONDS_MAX = 15;
const RESTRICTED = 429;

/** Far apart, so that the enumeration guard sees no signal. */
const distant = (index: number): number => 1_000_000_000 + index * 1_009;
const sequential = (index: number): number => 7_000_000_000 + index;

/** Requests of one client at full speed, over this number of processes: each limit admits exactly its number. */
export async function measureExact(setting: SharedSetting, count: number, options: PartOptions): Promise<RowResult> {
  const processes = await setting.start(count);
  try {
    const token = await processes.newClient(LIMITS);
    const startMs = performance.now();
    const statuses = admittedOf(await sendCount(processes, statusCheck(token), REQUESTS)).length;
    const tookMs = performance.now() - startMs;
    const few = accountCheck(token, (index) => distant(index % 20));
    const checks = admittedOf(await sendCount(processes, few, REQUESTS)).length;
    const accounts = await countAccountsOfDay(processes);
    const blockedAfter = await checksUntilBlocked(processes);
    const { sent, most } = await useUpQuota(setting, processes, options);
    const alone = await processes.decidedAlone();
    return {
      figures: [
        `check-status ${statuses} of ${REQUESTS} in ${(tookMs / 1_000).toFixed(1)} s`,
        `check-account ${checks}`,
        `accounts a day ${accounts}`,
        `blocked after ${blockedAfter}`,
        `bank ${most} in a second (${sent} sent)`,
        `decided alone ${alone}`,
      ],
      problems: [
        ...unless(statuses === LIMITS['check-status'], `${statuses} status checks were admitted`),
        ...unless(checks === LIMITS['check-account'], `${checks} account checks were admitted`),
        ...unless(accounts === ACCOUNTS_PER_DAY, `${accounts} accounts were checked on one day`),
        ...unless(blockedAfter === BLOCKED_AFTER, `blocked after ${blockedAfter} sequential accounts`),
        ...unless(most <= QUOTA_PER_SECOND, `the bank got ${most} inquiries in a second`),
        ...unless(sent > QUOTA_PER_SECOND, `only ${sent} inquiries were sent to the bank`),
      ],
    };
  } finally {
    await processes.release();
  }
}

async function countAccountsOfDay(processes: Processes): Promise<number> {
  const token = await processes.newClient({ 'check-account': PLENTY, 'accounts-per-day': ACCOUNTS_PER_DAY });
  const exchanges = await sendCount(processes, accountCheck(token, distant), ACCOUNTS_PER_DAY * 5, 32);
  return admittedOf(exchanges).length;
}

/** A client that is slowed has at most four checks waiting, each for half a second. */
const WAITING_MAX = 4;

async function checksUntilBlocked(processes: Processes): Promise<number> {
  const token = await processes.newClient({ 'check-account': PLENTY, 'accounts-per-day': PLENTY });
  let isBlocked = false;
  const request = accountCheck(token, sequential);
  const exchanges = await sendAll(processes, {
    async request(url, index) {
      const answer = await request(url, index);
      isBlocked ||= answer.status === RESTRICTED;
      return answer;
    },
    inFlight: WAITING_MAX,
    mayContinue: (sent) => !isBlocked && sent < BLOCKED_AFTER * 2,
  });
  return admittedOf(exchanges).length;
}

async function useUpQuota(
  { bank }: SharedSetting,
  processes: Processes,
  { seconds, signal }: PartOptions,
): Promise<{ sent: number; most: number }> {
  const token = await processes.newClient({ 'check-account': PLENTY, 'accounts-per-day': PLENTY });
  bank.arrivalsMs.length = 0;
  const endMs = performance.now() + Math.min(seconds, QUOTA_SECONDS_MAX) * 1_000;
  await sendAll(processes, {
    request: accountCheck(token, distant),
    inFlight: 16,
    mayContinue: () => performance.now() < endMs && !signal.aborted,
  });
  return { sent: bank.arrivalsMs.length, most: mostArrivals(bank.arrivalsMs, SECOND_MS) };
}
