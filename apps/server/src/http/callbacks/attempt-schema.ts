import { Type } from 'typebox';
import { nullable, Timestamp } from '../schemas.ts';

/** What came of sending a callback once. */
export const attemptFields = {
  started_at: Timestamp,
  duration_ms: Type.Integer({ minimum: 0 }),
  http_status: nullable(Type.Integer(), 'null when there was no answer.'),
  answer: nullable(Type.String(), 'The first KiB of what the receiver answered.'),
  error: nullable(Type.String(), 'Why there was no answer.'),
};
