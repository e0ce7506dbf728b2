/** What a token may be used for. Extensions add theirs. */
export const SCOPES = ['status:read', 'account:check', 'feed:write'] as const;
export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
