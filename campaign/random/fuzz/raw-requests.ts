import type { Draws } from '../draws.ts';
import type { FuzzRequest } from './operations.ts';
import type { RandomValues } from './values.ts';

/** Bytes for a connection: some well-formed requests in a row, and often one that is broken. */
export interface RawBytes {
  readonly bytes: Buffer;
  /** What its requests ask for, in order; null for a broken one. */
  readonly targets: readonly (string | null)[];
  /** The client closes after that many milliseconds without an answer. */
  readonly patienceMs: number;
}

const PIPELINED_MAX = 24;
const PATIENCE_MS = 40;
const UNBROKEN_PATIENCE_MS = 2_000;

/** The request as bytes, each character of its head as one. */
export function encodeRequest({ method, target, headers, body }: FuzzRequest): Buffer {
  const bytes = Buffer.from(body ?? '');
  const lines = Object.entries({ host: 'tiba.test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === null ? '' : `content-length: ${bytes.length}\r\n`;
  const head = `${method} ${target.replaceAll(/[^!-~]/g, '') || '/'} HTTP/1.1\r\n${lines.join('')}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}

/** Draws what is sent on one connection. `next` draws a well-formed request. */
export function drawBytes(draws: Draws, values: RandomValues, next: () => FuzzRequest): RawBytes {
  const wellFormed = Array.from({ length: draws.between(1, PIPELINED_MAX) }, next)
    // The answer to HEAD says that a body follows, and there is none.
    .filter(({ method }) => method !== 'HEAD');
  const bytes = Buffer.concat(wellFormed.map(encodeRequest));
  const targets = wellFormed.map(({ target }) => target);
  if (draws.chance(0.4)) return { bytes, targets, patienceMs: UNBROKEN_PATIENCE_MS };
  const broken = draws.pick(BREAKERS)(encodeRequest(next()), draws, values);
  return { bytes: Buffer.concat([bytes, broken]), targets: [...targets, null], patienceMs: PATIENCE_MS };
}

type Break = (request: Buffer, draws: Draws, values: RandomValues) => Buffer;

const inHead = (insert: (draws: Draws, values: RandomValues) => string): Break => {
  return (request, draws, values) => {
    const at = request.indexOf('\r\n') + 2;
    const line = Buffer.from(insert(draws, values), 'latin1');
    return Buffer.concat([request.subarray(0, at), line, request.subarray(at)]);
  };
};

const randomBytes = (draws: Draws, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, () => draws.below(256)));

const CHUNKS = [
  '5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhel',
  'zz\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffff\r\nhello',
  '-1\r\n\r\n',
  '5;extension=x\r\nhello\r\n0\r\ntrailer: x\r\n\r\n',
  '5\nhello\n0\n\n',
  '0\r\n',
];
const TRANSFER_ENCODINGS = ['chunked', 'Chunked, chunked', 'gzip, chunked', 'identity', 'chunked\r\ncontent-length: 3'];

const BREAKERS: readonly Break[] = [
  // Cut off anywhere.
  (request, draws) => request.subarray(0, draws.below(request.length)),
  // Some bytes replaced by others.
  (request, draws) => {
    const damaged = Buffer.from(request);
    for (let count = draws.between(1, 8); count > 0; count -= 1)
      damaged[draws.below(damaged.length)] = draws.below(256);
    return damaged;
  },
  (request, draws) => randomBytes(draws, request.length),
  (request) => Buffer.from(request.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  inHead((draws) => `content-length: ${draws.pick(['-1', '1e3', '99999999999999999999', '0x10', '', '5, 6'])}\r\n`),
  inHead((draws) => `content-length: 5\r\ncontent-length: ${draws.below(9)}\r\n`),
  inHead((draws) => `${'x'.repeat(draws.between(1, 40_000))}: y\r\n`),
  inHead((draws) => `x-long: ${'y'.repeat(draws.between(10_000, 40_000))}\r\n`),
  inHead((_, values) => `${values.header().replaceAll(':', '')}\0: ${values.header()}\r\n`),
  inHead((_, values) => `x-bytes: ${Buffer.from(values.text()).toString('latin1')}\r\n`),
  inHead(() => ' folded: line\r\n'),
  inHead((draws) => `${draws.pick(['host', 'authorization', 'content-type'])}: twice\r\n`),
  inHead((draws) => draws.pick(['expect: 100-continue\r\n', 'expect: x\r\n', 'upgrade: x\r\nconnection: upgrade\r\n'])),
  inHead((draws) => draws.pick(['connection: close\r\n', 'connection: x, keep-alive\r\n', 'te: trailers\r\n'])),
  (request, draws) => {
    const head =
      request
        .toString('latin1')
        .replace(/content-length: \d+\r\n/, '')
        .split('\r\n\r\n')[0] ?? '';
    const encoding = draws.pick(TRANSFER_ENCODINGS);
    return Buffer.from(`${head}\r\ntransfer-encoding: ${encoding}\r\n\r\n${draws.pick(CHUNKS)}`, 'latin1');
  },
  (request, draws) => {
    const version = draws.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/9', 'http/1.1', '', 'HTTP/1.1 x']);
    return Buffer.from(request.toString('latin1').replace('HTTP/1.1', version), 'latin1');
  },
  (request, draws) => {
    const line = draws.pick(['CONNECT a:1 HTTP/1.1', 'PRI * HTTP/2.0', 'OPTIONS * HTTP/1.1', 'GET http://x/ HTTP/1.1']);
    return Buffer.from(request.toString('latin1').replace(/^.*/, line), 'latin1');
  },
  (_, draws) => Buffer.from('\r\n'.repeat(draws.between(1, 2_000))),
  // A TLS client, and what follows it.
  (_, draws) => Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1]), randomBytes(draws, 100)]),
];
