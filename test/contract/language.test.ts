import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { readUpload } from '../../apps/server/src/account-validations/uploads/reader-process.ts';
import type { UploadMediaType } from '../../apps/server/src/account-validations/uploads/upload.ts';
import { FAILURE_REASON_CODES, reasonText } from '../../apps/server/src/domain/failure-reason.ts';
import type { BilingualText } from '../../apps/server/src/lib/bilingual-text.ts';
import { CSV_TYPE, JSON_TYPE, XLSX_TYPE } from '../account-validations/uploads.ts';
import { validationsOf } from '../account-validations/validations.ts';
import { ENDPOINTS, EVENTS, register } from '../callbacks/endpoints-harness.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { HTTP_STATUSES } from './assertions.ts';
import {
  type Ask,
  CRASHING,
  calling,
  checking,
  ERRORS,
  endedValidation,
  get,
  type Headers,
  SUCCESSES,
  scriptedRail,
  uploading,
  VALIDATIONS,
} from './language-cases.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 2.6. */

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [scriptedRail] });
  await service.feed([
    statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'one' }),
    ...FAILURE_REASON_CODES.map((failure_reason, index) =>
      statusUpdate({
        transaction_id: failedId(index),
        reference_id: `failed-${index}`,
        status: 'FAILED',
        processed_at: '2026-11-21T04:40:00.500Z',
        failure_reason,
      }),
    ),
  ]);
});
after(() => service?.close());

const failedId = (index: number): string => `TB00000001${String(index).padStart(2, '0')}`;

const INDONESIAN: Headers = { 'accept-language': 'id' };

const FAULTY_UPLOADS: readonly (readonly [UploadMediaType, string | Buffer])[] = [
  [CSV_TYPE, ''],
  [CSV_TYPE, Buffer.of(0xff)],
  [CSV_TYPE, 'bank_code\n014'],
  [CSV_TYPE, 'bank_code,account_number,bank_code\n014,1,2'],
  [CSV_TYPE, 'bank_code,account_number\n'],
  [CSV_TYPE, 'bank_code,account_number\n014,"1'],
  [CSV_TYPE, 'bank_code,account_number\n014,"1"2'],
  [CSV_TYPE, 'bank_code,account_number\n014,1"2'],
  [CSV_TYPE, `bank_code,account_number\n014,${'1'.repeat(70_000)}`],
  [CSV_TYPE, `bank_code,account_number\n${'\n'.repeat(100_001)}`],
  [JSON_TYPE, '{"accounts":[{"a":1,"a":2}]}'],
  [JSON_TYPE, '['.repeat(2_000)],
  [JSON_TYPE, Buffer.of(0xff)],
  [JSON_TYPE, `[${'1,'.repeat(1_000_001)}1]`],
  [JSON_TYPE, `{${Array.from({ length: 1_002 }, (_, index) => `"n${index}":1`).join()}}`],
  [XLSX_TYPE, 'no workbook'],
];

/** Words of English that Indonesian has not. Names of fields and headers are English in both. */
const ENGLISH = /\b(?:the|is|are|not|must|cannot|and|or|of|wait|send|use|found|invalid|too|many|this|with|at)\b/i;

function assertLanguage({ headers }: Answer, language: 'en' | 'id'): void {
  assert.equal(headers.get('content-language'), language);
  assert.ok(headers.get('vary')?.split(/, */).includes('Accept-Language'));
}

function assertInBothLanguages(english: Answer, indonesian: Answer, label: string): void {
  assertLanguage(english, 'en');
  assertLanguage(indonesian, 'id');
  assert.equal(indonesian.status, english.status, `${label}: ${indonesian.text}`);
  assert.notEqual(indonesian.json.message, english.json.message);
  assert.doesNotMatch(indonesian.json.message, ENGLISH, label);
  assert.deepEqual(Object.keys(indonesian.json), Object.keys(english.json));
}

test('a text without Indonesian does not compile', () => {
  // @ts-expect-error -- `id` is missing. The type check fails here as soon as this compiles.
  const english: BilingualText = { en: 'Bank found' };
  assert.deepEqual(Object.keys(english), ['en']);
});

suite('every error code in both languages', () => {
  for (const [code, cases] of Object.entries(ERRORS) as [keyof typeof ERRORS, readonly Ask[]][]) {
    test(code, async () => {
      for (const [index, ask] of cases.entries()) {
        const label = `${code} ${index}`;
        const [english, indonesian] = [await ask(service, {}), await ask(service, INDONESIAN)];
        assert.equal(english.json.error_code, code, `${label}: ${english.text}`);
        assert.equal(english.status, HTTP_STATUSES[code], label);
        assert.equal(indonesian.json.error_code, code, label);
        assertInBothLanguages(english, indonesian, label);
      }
    });
  }
});

test('SERVICE_UNAVAILABLE says that it is temporary, in answers and in rows of a validation', async () => {
  const beginnings = [
    [{}, /^Temporarily unavailable: /],
    [INDONESIAN, /^Sementara tidak tersedia: /],
  ] as const;
  for (const [headers, beginning] of beginnings) {
    for (const ask of ERRORS.SERVICE_UNAVAILABLE) assert.match((await ask(service, headers)).json.message, beginning);
    const { json } = await get(`${VALIDATIONS}/${await endedValidation(service)}/results`)(service, headers);
    const rows = (json.data?.['results'] ?? []) as { error_code: string | null; message: string }[];
    const unavailable = rows.filter(({ error_code: code }) => code === 'SERVICE_UNAVAILABLE');
    assert.equal(unavailable.length, 3);
    for (const { message } of unavailable) assert.match(message, beginning);
  }
});

/** Their bodies have no message: RFC 6749, RFC 8414, RFC 7517. */
const OF_OTHER_STANDARDS = ['createAccessToken', 'getAuthorizationServerMetadata', 'getJsonWebKeySet'];

suite('every success in both languages', () => {
  test('no operation of the API description is missing here', async () => {
    const { text } = await service.get('/openapi.json', { token: null });
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { operationId: string }>> };
    const described = Object.values(paths).flatMap((methods) => Object.values(methods).map((each) => each.operationId));
    assert.ok(described.length > 20);
    assert.deepEqual(
      described.filter((operationId) => SUCCESSES[operationId] === undefined).sort(),
      OF_OTHER_STANDARDS,
    );
  });

  for (const [name, ask] of Object.entries(SUCCESSES)) {
    test(name, async () => {
      const [english, indonesian] = [await ask(service, {}), await ask(service, INDONESIAN)];
      assert.equal(english.json.success, true, english.text);
      assertInBothLanguages(english, indonesian, name);
    });
  }

  test('OAuth errors, whose description stays ASCII', async () => {
    for (const body of ['', 'grant_type=x', 'grant_type=client_credentials&scope=x', 'a=1&a=2']) {
      const login = (headers: Headers): Promise<Answer> => {
        const { clientId, clientSecret } = service.alpha;
        const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
        return send(`${service.url}/oauth/token`, {
          method: 'POST',
          headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded', ...headers },
          body,
        });
      };
      const [english, indonesian] = [await login({}), await login(INDONESIAN)];
      const [one, other] = [english, indonesian].map(({ text }) => JSON.parse(text) as Record<string, string>);
      assert.equal(other?.['error'], one?.['error']);
      assert.notEqual(other?.['error_description'], one?.['error_description']);
      assert.match(other?.['error_description'] ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
      assertLanguage(english, 'en');
      assertLanguage(indonesian, 'id');
    }
  });
});

suite('Accept-Language', () => {
  const languageFor = async (acceptLanguage: string): Promise<string | null> => {
    const answer = await service.get('/api/v1/nothing', { headers: { 'accept-language': acceptLanguage } });
    assert.equal(answer.status, 404);
    return answer.headers.get('content-language');
  };

  const CASES: Readonly<Record<'en' | 'id', readonly string[]>> = {
    id: [
      'id',
      'ID',
      'id-ID',
      'id-Latn-ID',
      'in',
      'in-ID',
      'id,en',
      'id-ID,id;q=0.9,en-US;q=0.8,en;q=0.7',
      'en;q=0.5,id',
      'en;q=0.8, id;q=0.9',
      'fr, id;q=0.1',
      'ms, id',
      'en;q=0, id;q=0.001',
      'en;q=0, *',
      'id;q=1.000, en;q=0.999',
      ' id ; q=0.5 , en ; q=0.4 ',
      'id,*',
      'id, en;q=nonsense',
      `${'fr,'.repeat(31)}id`,
    ],
    en: [
      '*',
      'en',
      'en-US',
      'en,id',
      'en-GB;q=0.9,id;q=0.8',
      'fr',
      'idx',
      'ind',
      'i',
      'id;q=0',
      'id-ID;q=0, *',
      'id;q=0.5, *',
      'id;q=0.5, en;q=0.6',
      'id;q=0, id-ID',
      'en;q=0',
      '*;q=0',
      'id;q=2',
      'id;q=-1',
      'id;q=',
      'id;q=abc',
      'id;level=1',
      'id;q=0.5;q=0.9',
      ';;;',
      ',,,',
      'constructor',
      '__proto__',
      'q=1',
      '\t',
      'x'.repeat(8_000),
      ','.repeat(8_000),
      // Regression: thousands of elements were read, in milliseconds, also for requests of strangers.
      `${'fr,'.repeat(5_000)}id`,
    ],
  };
  for (const [language, headers] of Object.entries(CASES)) {
    test(`chooses ${language}`, async () => {
      for (const header of headers) assert.equal(await languageFor(header), language, header.slice(0, 80));
    });
  }

  test('without it: English, with the same headers', async () => {
    const answer = await exchangeOne(service.url, rawRequest('GET', '/api/v1/nothing'));
    assertLanguage(answer, 'en');
  });

  test('given twice: as one list', async () => {
    const request = 'GET /x HTTP/1.1\r\nHost: a\r\nAccept-Language: en;q=0.5\r\nAccept-Language: id\r\n\r\n';
    assertLanguage(await exchangeOne(service.url, request), 'id');
  });

  test('HEAD has the headers of GET', async () => {
    const answer = await service.get('/api/v1/check-status/one', { method: 'HEAD', headers: INDONESIAN });
    assertLanguage(answer, 'id');
    assert.match(answer.headers.get('etag') ?? '', /^"\d+-id"$/);
  });

  test('the operator listener answers in English, and says so', async () => {
    const answer = await send(`${service.operatorUrl}/nothing`, { headers: INDONESIAN });
    assert.deepEqual([answer.headers.get('content-language'), answer.headers.get('vary')], ['en', null]);
    assert.match(answer.json.message, /^No such route/);
  });

  test('log lines stay in English', async () => {
    await checking(CRASHING)(service, INDONESIAN);
    const line = service.logged.findLast(({ answer }) => answer !== undefined);
    assert.match(String(line?.['answer']), /^An internal error occurred/);
  });
});

interface BatchResult {
  readonly transaction?: Record<string, unknown>;
  readonly message?: string;
}

suite('failure reasons', () => {
  test('each published reason is in the language of the answer; nothing else differs', async () => {
    for (const [index, code] of FAILURE_REASON_CODES.entries()) {
      const path = `/api/v1/check-status/${failedId(index)}`;
      const [english, indonesian] = [await get(path)(service, {}), await get(path)(service, INDONESIAN)];
      const { en, id } = reasonText(code);
      assert.equal(english.json.data?.['failure_reason'], en);
      assert.deepEqual(indonesian.json.data, { ...english.json.data, failure_reason: id });
      assert.doesNotMatch(id.slice(code.length), ENGLISH);
      assert.match(id, /^[A-Z]+(?:_[A-Z]+)*: [A-Z][^.:]+\. [A-Z][^.:]+\.$/);
    }
  });

  test('also in a batch, whose lines of errors are Indonesian too', async () => {
    const ids = [failedId(0), 'none', ''];
    const { json } = await calling('POST', '/api/v1/check-status/batch', { ids })(service, INDONESIAN);
    const [failed, missing, invalid] = (json.data?.['results'] ?? []) as BatchResult[];
    assert.equal(failed?.transaction?.['failure_reason'], reasonText(FAILURE_REASON_CODES[0] ?? 'OTHER').id);
    assert.equal(missing?.message, 'Transaksi tidak ditemukan');
    assert.match(invalid?.message ?? '', /^Format ID transaksi tidak valid: /);
  });

  test('also in a stream, which names its language', async () => {
    const headers = { accept: 'text/event-stream', ...INDONESIAN };
    const answer = await get(`/api/v1/check-status/${failedId(0)}`)(service, headers);
    assertLanguage(answer, 'id');
    assert.ok(answer.text.includes(reasonText(FAILURE_REASON_CODES[0] ?? 'OTHER').id));
  });

  test('a stored event keeps its English text', async () => {
    const { text } = await get(EVENTS)(service, INDONESIAN);
    assert.ok(text.includes(reasonText(FAILURE_REASON_CODES[0] ?? 'OTHER').en));
  });

  test("an attempt's error stays in English", async () => {
    const { endpointId } = await register(service);
    const attempt = calling('POST', `${ENDPOINTS}/${endpointId}/test`);
    const [english, indonesian] = [await attempt(service, {}), await attempt(service, INDONESIAN)];
    assert.match(String(english.json.data?.['error']), /\w/);
    assert.equal(indonesian.json.data?.['error'], english.json.data?.['error']);
  });

  test('the ETag differs between languages, and each is current for its own', async () => {
    const path = `/api/v1/check-status/${failedId(0)}`;
    const statusFor = async (tag: string, headers: Headers): Promise<number> =>
      (await get(path)(service, { 'if-none-match': tag, ...headers })).status;
    assert.deepEqual(
      [
        await statusFor('"1"', {}),
        await statusFor('"1"', INDONESIAN),
        await statusFor('"1-id"', INDONESIAN),
        await statusFor('"1-id"', {}),
      ],
      [304, 200, 304, 200],
    );
    const notModified = await get(path)(service, { 'if-none-match': '"1-id"', ...INDONESIAN });
    assert.equal(notModified.headers.get('vary'), 'Accept-Language');
  });
});

suite('results of a bulk validation', () => {
  const messagesOf = async (headers: Headers): Promise<(string | null)[]> => {
    const { json } = await get(`${VALIDATIONS}/${await endedValidation(service)}/results`)(service, headers);
    return ((json.data?.['results'] ?? []) as { message: string | null }[]).map(({ message }) => message);
  };

  test('each message is in the language of the answer that reads it, whatever the upload calling for', async () => {
    const [english, indonesian] = [await messagesOf({}), await messagesOf(INDONESIAN)];
    assert.equal(english.filter((message) => message !== null).length, 7);
    for (const [index, message] of indonesian.entries()) {
      assert.equal(message === null, english[index] === null);
      assert.notEqual(message ?? '-', english[index]);
      assert.doesNotMatch(message ?? '', ENGLISH);
    }
  });

  test('also in NDJSON and CSV, which name their language', async () => {
    const messages = (await messagesOf(INDONESIAN)).filter((message) => message !== null);
    for (const accept of ['application/x-ndjson', 'text/csv']) {
      const answer = await get(`${VALIDATIONS}/${await endedValidation(service)}/results`)(service, {
        accept,
        ...INDONESIAN,
      });
      assertLanguage(answer, 'id');
      for (const message of messages) assert.ok(answer.text.includes(message), message);
    }
  });

  test('faults of a whole upload are in both languages', async () => {
    for (const [type, body] of FAULTY_UPLOADS) {
      const result = await readUpload(type, typeof body === 'string' ? Buffer.from(body) : body);
      assert.ok(result.kind === 'fault', String(body.slice(0, 80)));
      assert.notEqual(result.message.id, result.message.en);
      assert.doesNotMatch(result.message.id, ENGLISH);
    }
  });

  test('faults of cells, which the child process finds, are in both languages', async () => {
    const csv = `bank_code,account_number\n${`014,${'1'.repeat(600)}\n`.repeat(2)}014,1,2\n`;
    const answer = await uploading('text/csv', csv)(service, {});
    const id = String(answer.json.data?.['validation_id']);
    await validationsOf(service).untilEnded(id);
    const read = async (headers: Headers) => (await get(`${VALIDATIONS}/${id}/results`)(service, headers)).text;
    assert.match(await read({}), /account_number is longer than 512 characters/);
    assert.match(await read(INDONESIAN), /account_number lebih panjang dari 512 karakter/);
    assert.match(await read(INDONESIAN), /memiliki lebih banyak sel daripada baris judul/);
  });
});
