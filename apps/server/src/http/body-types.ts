import type { onRequestHookHandler } from 'fastify';
import { isBodyEmpty } from './empty-body.ts';
import { ApiError } from './errors.ts';

/** An onRequest hook: a body of any other type is refused, with those that are taken. None at all is for the operation to judge. */
export const requireBodyOf =
  (...types: readonly string[]): onRequestHookHandler =>
  ({ headers }, _reply, done) => {
    const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
    const isTaken = isBodyEmpty(headers) || types.includes(type.trim().toLowerCase());
    done(isTaken ? undefined : unsupportedMediaType(types));
  };

export const unsupportedMediaType = (taken: readonly string[]): ApiError =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', {
    message: `Unsupported media type: send Content-Type: ${taken.join(' or ')}, uncompressed`,
  });
