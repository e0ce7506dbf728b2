import { Type } from 'typebox';
import { Timestamp } from '../schemas.ts';

/** What came of sending a callback once. */
export const attemptFields = {
  started_at: Timestamp,
  duration_ms: Type.Integer({ minimum: 0 }),
  http_status: Type.Union([Type.Integer(), Type.Null()], { description: 'null when there was no answer.' }),
  answer: Type.Union([Type.String(), Type.Null()], { description: 'The first KiB of what the receiver answered.' }),
  error: Type.Union([Type.String(), Type.Null()], { description: 'Why there was no answer.' }),
};
