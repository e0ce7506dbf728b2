/** Scopes of the public listener, for which clients are registered. */
export const PUBLIC_SCOPES = [
  'status:read',
  'transactions:read',
  'account:check',
  'events:read',
  'callbacks:manage',
] as const;

/** OAuth scopes: the operations that a token permits (docs/contract.md 5.2). */
export const SCOPES = [
  ...PUBLIC_SCOPES,
  'feed:write',
  'operator:read',
  'operator:write',
  'operator:unmask',
  'audit:read',
] as const;
export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
