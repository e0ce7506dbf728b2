import type { Scope } from './scopes.ts';

/** What people may do on the operator listener. Each role may do what those before it may (docs/operating.md). */
export const ROLES = ['viewer', 'support', 'engineer', 'approver'] as const;
export type Role = (typeof ROLES)[number];

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text);

export const hasRole = (own: Role, needed: Role): boolean => ROLES.indexOf(own) >= ROLES.indexOf(needed);

/** The role and those before it. */
export const rolesUpTo = (role: Role): readonly Role[] => ROLES.slice(0, ROLES.indexOf(role) + 1);

/** The highest of several roles; null where there is none. */
export const highestRole = (roles: readonly Role[]): Role | null =>
  ROLES.findLast((role) => roles.includes(role)) ?? null;

/**
 * The role that a person needs where a machine needs the scope; null where only machines may. A new operation is for
 * engineers until it names a lower role (`AuthorizeOptions.role`).
 */
export const ROLE_OF_SCOPE: Readonly<Record<Scope, Role | null>> = {
  'status:read': null,
  'transactions:read': null,
  'account:check': null,
  'events:read': null,
  'callbacks:manage': null,
  'feed:write': null,
  'operator:read': 'viewer',
  'operator:unmask': 'support',
  'operator:write': 'engineer',
  'audit:read': 'engineer',
};
