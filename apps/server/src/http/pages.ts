import { Type } from 'typebox';
import { nullable } from './schemas.ts';

/** What the lists that are read by signed cursors (cursors.ts) have in common. */

export const LIMIT_MAX = 200;
export const LIMIT_DEFAULT = 50;

const CURSOR = 'eyJ2IjoxfQ';

export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({ description: 'The size of a page.', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'The `next_cursor` of the previous page, with the same filters as there.',
      examples: [CURSOR],
    }),
  ),
};

export const nextPage = {
  next_cursor: nullable(
    Type.String({ examples: [CURSOR] }),
    'Send it as `cursor` for the next page. null: this is the last one.',
  ),
  has_more: Type.Boolean({ description: 'Whether there is a next page.' }),
};
