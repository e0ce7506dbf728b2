/** OAuth scopes: the operations that a token permits (docs/contract.md 5.2). */
export const SCOPES = [
  'status:read',
  'transactions:read',
  'account:check',
  'events:read',
  'callbacks:manage',
  'feed:write',
  'operator:read',
  'operator:write',
  'operator:unmask',
  'audit:read',
] as const;
export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
