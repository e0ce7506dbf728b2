import type { IncomingHttpHeaders } from 'node:http';

/** A POST that has been read to its end. */
export interface BankRequest {
  /** Path with query, exactly as the request line has it: signatures cover this text. */
  readonly endpoint: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The value of a header (name in lower case), or ''. Node joins a header sent twice, which then fits no format. */
export function header(request: BankRequest, name: string): string {
  return String(request.headers[name] ?? '');
}
