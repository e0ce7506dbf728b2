import { signal } from '@preact/signals';
import type { OperatorSession, Role, SessionPerson } from '../generated/api.ts';

/** Who is logged in, and what this person may do. The server decides; a page only leaves out what it would refuse. */

/** `loading` until the service has answered; null: no person is logged in. */
export const session = signal<OperatorSession | 'loading' | null>('loading');

/** After an answer 401: the login has expired or was revoked. */
export function endSession(): void {
  session.value = null;
}

export async function logOut(): Promise<void> {
  const headers = { 'x-csrf-token': csrfToken() };
  await fetch('/operator/v1/session', { method: 'DELETE', credentials: 'same-origin', headers }).catch(() => null);
  endSession();
}

const current = (): OperatorSession | null => (typeof session.value === 'string' ? null : session.value);

export const csrfToken = (): string => current()?.csrf_token ?? '';

export const person = (): SessionPerson | null => current()?.person ?? null;

/** Whether there are changes that a second person must approve. */
export const hasApprovals = (): boolean => (current()?.four_eyes.length ?? 0) > 0;

/** The role that an action needs (docs/operating.md, "People"). A person has the roles below their own as well. */
const NEEDED = {
  unmask: 'support',
  inquire: 'support',
  resend: 'support',
  resolveReview: 'engineer',
  changeClient: 'engineer',
  readAudit: 'engineer',
  readProposals: 'engineer',
  readSessions: 'engineer',
  revokeSessions: 'engineer',
  replay: 'engineer',
  decide: 'approver',
} as const satisfies Record<string, Role>;

export const may = (action: keyof typeof NEEDED): boolean => current()?.person.roles.includes(NEEDED[action]) === true;
