import { signal } from '@preact/signals';

/** Who is logged in, and what this person may do. The server decides; a page only leaves out what it would refuse. */

export type Role = 'viewer' | 'support' | 'engineer' | 'approver';

export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly expires_at: string;
}

interface Session {
  readonly person: Person;
  readonly four_eyes: readonly string[];
  readonly csrf_token: string;
}

/** `loading` until the service has answered; null: no person is logged in. */
export const session = signal<Session | 'loading' | 'unreachable' | null>('loading');

export async function loadSession(): Promise<void> {
  const response = await fetch('/operator/v1/session', { credentials: 'same-origin' }).catch(() => null);
  if (response?.ok === true) {
    session.value = ((await response.json()) as { readonly data: Session }).data;
    return;
  }
  session.value = response?.status === 401 || response?.status === 404 ? null : 'unreachable';
}

/** After an answer 401: the login has expired or was revoked. */
export function endSession(): void {
  session.value = null;
}

export async function logOut(): Promise<void> {
  const headers = { 'x-csrf-token': csrfToken() };
  await fetch('/operator/v1/session', { method: 'DELETE', credentials: 'same-origin', headers }).catch(() => null);
  endSession();
}

const current = (): Session | null => (typeof session.value === 'string' ? null : session.value);

export const csrfToken = (): string => current()?.csrf_token ?? '';

export const person = (): Person | null => current()?.person ?? null;

/** The role that an action needs (docs/operating.md, "People"). A person has the roles below their own as well. */
const NEEDED = {
  unmask: 'support',
  inquire: 'support',
  resend: 'support',
  resolveReview: 'engineer',
  changeClient: 'engineer',
  readAudit: 'engineer',
} as const satisfies Record<string, Role>;

export const may = (action: keyof typeof NEEDED): boolean => current()?.person.roles.includes(NEEDED[action]) === true;
