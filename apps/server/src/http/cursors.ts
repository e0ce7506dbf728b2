import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { invalidRequest, queryOf } from './query-parameters.ts';

/** What a cursor belongs to. A cursor is rejected if one of these values differs. */
export interface CursorScope {
  readonly list:
    | 'transactions'
    | 'account-checks'
    | 'operator-transactions'
    | 'operator-audit'
    | 'operator-clients'
    | 'operator-deliveries'
    | 'operator-proposals';
  /** Of the client that reads the list. */
  readonly clientId: string;
  /** The filters, always with the same fields in the same order. */
  readonly filter: object;
}

/**
 * Cursors of lists: the place where the next page starts, as opaque text. A cursor is signed (HMAC-SHA-256, RFC 2104),
 * so a client cannot make one up, and none leads into another list, another client's list or a list with other filters.
 * Every process of the installation accepts it, at any time: nothing is stored.
 */
export interface Cursors {
  issue(scope: CursorScope, position: readonly string[]): string;
  /** The position of a cursor that `issue` returned for the same scope. @throws ApiError INVALID_REQUEST */
  read(scope: CursorScope, cursor: string): readonly string[];
}

const KEY_BYTES = 32;
/** 128 of the 256 bits (RFC 2104, section 5): an attacker can only guess, one request at a time. */
const TAG_BYTES = 16;
const LENGTH_MAX = 512;

export function createCursors(dataKey: Buffer): Cursors {
  const key = Buffer.from(hkdfSync('sha256', dataKey, '', 'tiba list cursor', KEY_BYTES));
  const tagOf = ({ list, clientId, filter }: CursorScope, position: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([list, clientId, filter, position]))
      .digest()
      .subarray(0, TAG_BYTES);

  return {
    issue(scope, position) {
      const text = JSON.stringify(position);
      return Buffer.concat([tagOf(scope, text), Buffer.from(text)]).toString('base64url');
    },
    read(scope, cursor) {
      const bytes = Buffer.from(cursor.length > LENGTH_MAX ? '' : cursor, 'base64url');
      const text = bytes.subarray(TAG_BYTES).toString();
      const tag = bytes.subarray(0, TAG_BYTES);
      if (tag.length !== TAG_BYTES || !timingSafeEqual(tag, tagOf(scope, text))) {
        throw invalidRequest({
          en:
            'cursor must be the next_cursor of the previous page, with the same filters: take it from there, or ' +
            'leave cursor out for the first page',
          id:
            'cursor harus berupa next_cursor dari halaman sebelumnya, dengan filter yang sama: ambil dari sana, atau ' +
            'hilangkan cursor untuk halaman pertama',
        });
      }
      return JSON.parse(text) as string[];
    },
  };
}

/** The address of the next page (RFC 8288): this request's own, with another cursor. */
export function linkToNext(url: string, cursor: string): string {
  const [path = ''] = url.split('?', 1);
  const parameters = queryOf(url);
  parameters.set('cursor', cursor);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}
