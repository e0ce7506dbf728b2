import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 4 and 4.3: which bodies check-account accepts, what it ignores in them, and which it rejects. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

const GOOD = '"bank_code":"014","account_number":"1234567890"';

const post = (body: string | Buffer): Promise<Answer> =>
  exchangeOne(
    service.url,
    rawRequest('POST', '/api/v1/check-account', {
      headers: { authorization: `Bearer ${service.alpha.token}`, 'content-type': 'application/json' },
      body,
    }),
  );

const assertActive = (answer: Answer): void => assert.equal(assertSuccess(answer)['status'], 'ACTIVE');
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

suite('accepted bodies', () => {
  test('fields in any order, white space, escapes', async () => {
    for (const body of [
      `{${GOOD}}`,
      ' \r\n\t{ "account_number" : "1234567890" , "bank_code" : "014" } \n',
      String.raw`{"bank\u005fcode":"\u0030\u0031\u0034","account_number":"123456789\u0030"}`,
    ]) {
      assertActive(await post(body));
    }
  });

  test('unknown fields are ignored, whatever their values', async () => {
    for (const unknown of [
      '"x":1',
      '"x":null',
      '"x":[1,{"y":[]}]',
      '"x":123456789012345678901234567890.5e300',
      '"x":"\\ud800"',
      '"bank_name":"Another"',
      '"is_valid":false',
      '"":0',
      '"toString":1',
      '"hasOwnProperty":1',
      '"constructor":{}',
    ]) {
      assertActive(await post(`{${unknown},${GOOD}}`));
    }
  });

  test('a byte order mark before the object is ignored', async () => {
    assertActive(await post(`\ufeff{${GOOD}}`));
  });

  test('an unknown field may be nested deeply', async () => {
    assertActive(await post(`{"x":${nested(500)},${GOOD}}`));
  });
});

suite('rejected bodies', () => {
  test('one field with two different values, which parsers resolve differently: INVALID_FORMAT', async () => {
    assertError(await post(`{"bank_code":"009",${GOOD}}`), 'INVALID_FORMAT');
    assertError(await post(`{"account_number":"9999999999",${GOOD}}`), 'INVALID_FORMAT');
    assertError(await post(`{${GOOD},"bank\\u005fcode":"009"}`), 'INVALID_FORMAT');
  });

  test('invalid JSON: INVALID_FORMAT', async () => {
    for (const body of [
      `{${GOOD}`,
      `{${GOOD},}`,
      `{${GOOD}}x`,
      `{${GOOD}}{}`,
      `{'bank_code':'014'}`,
      `// c\n{${GOOD}}`,
      '{,}',
      '{"a"}',
      'undefined',
      'NaN',
      '{"x":NaN}',
      '{"x":01}',
      '{"x":+1}',
      '{"x":.5}',
      '{"x":"\t"}',
      '{"x":"\\x41"}',
      '\u0000',
      'bank_code=014&account_number=1234567890',
      '<xml/>',
      ' ',
      '\ufeff',
      '\ufeff\ufeff{}',
    ]) {
      assertError(await post(body), 'INVALID_FORMAT');
    }
  });

  test('JSON that is not an object: INVALID_FORMAT', async () => {
    for (const body of ['null', 'true', '0', '1e400', '"x"', '[]', `[{${GOOD}}]`, nested(500)]) {
      assertError(await post(body), 'INVALID_FORMAT', /JSON object/);
    }
  });

  test('invalid UTF-8: INVALID_FORMAT, even in a field that is ignored', async () => {
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"x":"'), Buffer.from(bytes), Buffer.from(`",${GOOD}}`)]);
      assertError(await post(body), 'INVALID_FORMAT');
    }
  });

  test('UTF-16, with or without a byte order mark: INVALID_FORMAT', async () => {
    for (const text of [`{${GOOD}}`, `\ufeff{${GOOD}}`]) {
      assertError(await post(Buffer.from(text, 'utf16le')), 'INVALID_FORMAT');
    }
  });

  test('the deepest nesting in 16 KiB: INVALID_FORMAT, and no crash', async () => {
    for (const body of [nested(8_000), `{"x":${nested(8_000)},${GOOD}}`, '['.repeat(16_000), '{"a":'.repeat(3_000)]) {
      assertError(await post(body), 'INVALID_FORMAT');
    }
  });
});

suite('__proto__', () => {
  test('gives a body no fields that it does not have', async () => {
    for (const body of [
      `{"__proto__":{${GOOD}}}`,
      `{"constructor":{"prototype":{${GOOD}}}}`,
      `{"__proto__":{"bank_code":"014"},"account_number":"1234567890"}`,
    ]) {
      assertError(await post(body), 'INVALID_BANK_CODE');
    }
  });

  test('does not affect the next request', async () => {
    await post(`{"__proto__":{"polluted":"yes",${GOOD}},${GOOD}}`);
    await post('{"constructor":{"prototype":{"polluted":"yes"}}}');
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assertError(await post('{}'), 'INVALID_BANK_CODE');
    assertActive(await post(`{${GOOD}}`));
  });
});
