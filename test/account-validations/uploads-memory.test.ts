import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { readerArguments } from '../../apps/server/src/account-validations/uploads/read-in-child-process.ts';
import type { UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { MIB } from './hostile-upload.ts';
import { CSV_TYPE, JSON_TYPE } from './uploads.ts';

/** As documented in docs/account-validations.md, "Uploads that are rejected as a whole". */
const PEAK_MAX_MB = 250;

/** Runs in the reader process: at its end it reports its largest resident set, in KiB, on stderr. */
const REPORT_PEAK = `
import { readFileSync, writeSync } from 'node:fs';
process.on('exit', () => {
  const [, peak] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  writeSync(2, peak);
});`;

interface Reading {
  readonly peakMb: number;
  /** The message of a rejected upload, or 'read'. */
  readonly outcome: string;
}

/** Reads an upload in a process of its own, as the service does. */
async function read(mediaType: UploadMediaType, body: Buffer): Promise<Reading> {
  const report = ['--import', `data:text/javascript,${encodeURIComponent(REPORT_PEAK)}`];
  const child = spawn(process.execPath, [...report, ...readerArguments(mediaType, body.length)], { env: {} });
  const closed = once(child, 'close');
  // A process that dies early leaves its input unread.
  child.stdin.on('error', () => {});
  child.stdin.end(body);
  const [stdout, stderr, [exitCode, signal]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  assert.deepEqual([exitCode, signal], [0, null], `the reader process died: ${stderr.slice(0, 200)}`);
  const { end } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as {
    end: { message: { en: string } } | null;
  };
  return { peakMb: (Number(stderr) * 1024) / 1e6, outcome: end?.message.en ?? 'read' };
}

const CSV_HEADER = 'bank_code,account_number\n';
const ROW = { bank_code: '014', expected_account_name: `\u00e9${'x'.repeat(120)}`, reference: 'y'.repeat(90) };
const rows = (): unknown[] =>
  Array.from({ length: 50_000 }, (_, index) => ({ ...ROW, account_number: `${10e9 + index}` }));

const UPLOADS: Readonly<Record<string, () => readonly [type: UploadMediaType, body: string, outcome: RegExp]>> = {
  'a CSV row of 15 million cells': () => [CSV_TYPE, CSV_HEADER + ','.repeat(15 * MIB), /too large.*more cells/],
  'a CSV header row of 15 million cells': () => [
    CSV_TYPE,
    `bank_code,account_number${','.repeat(15 * MIB)}`,
    /too large.*more cells/,
  ],
  'a CSV row of as many cells as a file may have': () => [
    CSV_TYPE,
    `${CSV_HEADER}${','.repeat(1_999_990)}\n014,1`,
    /line 2 is longer than 65536/,
  ],
  'a JSON string of 15 MB': () => [
    JSON_TYPE,
    JSON.stringify({ accounts: [{ bank_code: 'x'.repeat(15 * MIB) }] }),
    /read/,
  ],
  '15 MB of JSON strings of 300 characters': () => [
    JSON_TYPE,
    JSON.stringify({ accounts: [{}], other: Array.from({ length: 50_000 }, () => 'x'.repeat(300)) }),
    /read/,
  ],
  'a JSON object of 480,000 fields': () => [
    JSON_TYPE,
    JSON.stringify({ accounts: [Object.fromEntries(Array.from({ length: 480_000 }, (_, index) => [`k${index}`, 1]))] }),
    /more field names/,
  ],
  '480,000 JSON objects of different fields': () => [
    JSON_TYPE,
    JSON.stringify({ accounts: [{}], other: Array.from({ length: 480_000 }, (_, index) => ({ [`k${index}`]: 1 })) }),
    /more field names/,
  ],
  '990,000 JSON strings that are not ASCII': () => [
    JSON_TYPE,
    JSON.stringify({ accounts: [{}], other: Array.from({ length: 990_000 }, (_, index) => `\u20ac${index}`) }),
    /read/,
  ],
  '50,000 rows of JSON in 14 MB': () => [JSON_TYPE, JSON.stringify({ accounts: rows() }), /read/],
};

/** Regression: the reader process of a CSV row of 15 million commas took 480 MB, and that of one JSON string 380 MB. */
suite(`a reader process takes at most ${PEAK_MAX_MB} MB for`, () => {
  for (const [name, upload] of Object.entries(UPLOADS)) {
    test(name, async (t) => {
      const [mediaType, body, expected] = upload();
      const { peakMb, outcome } = await read(mediaType, Buffer.from(body));
      t.diagnostic(`${Math.round(peakMb)} MB`);
      assert.match(outcome, expected);
      assert.ok(peakMb <= PEAK_MAX_MB, `${peakMb} MB`);
    });
  }
});
