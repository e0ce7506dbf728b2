import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { judge, judgeNotedAnswers, noteAnswer, noteAnswersOf } from '../support/described-answers.ts';
import { documentOf } from '../support/openapi.ts';

/** The judge of the answers of all tests (ajv, with the OpenAPI documents) is shown right answers and wrong ones. */

const path = '/api/v1/check-account';
const example = documentOf('public').paths[path]?.['post']?.responses['200'];
const media = example === undefined || '$ref' in example ? undefined : example.content?.['application/json'];
const RIGHT = (media?.example ?? Object.values(media?.examples ?? {})[0]?.value) as {
  readonly data: Record<string, unknown>;
};

const ERROR = { success: false, message: 'Invalid bank code', error_code: 'INVALID_BANK_CODE' };

interface Changes {
  readonly status?: number;
  readonly contentType?: string;
  readonly path?: string;
  readonly method?: string;
}

const judged = (body: unknown, changes: Changes = {}): void =>
  judge({
    listener: 'public',
    method: 'POST',
    path,
    status: 200,
    contentType: 'application/json; charset=utf-8',
    text: typeof body === 'string' ? body : JSON.stringify(body),
    ...changes,
  });

const changedData = (changes: object): object => ({ ...RIGHT, data: { ...RIGHT.data, ...changes } });

suite('an answer', () => {
  test('is right as the document describes it', () => {
    judged(RIGHT);
    judged(ERROR, { status: 400 });
    judged({ ...ERROR, error_code: 'NOT_FOUND' }, { status: 404, path: '/nowhere' });
  });

  for (const [name, body, changes] of [
    ['a field is missing', changedData({ status: undefined }), {}],
    ['a field has another type', changedData({ is_valid: 'true' }), {}],
    ['a field has a value that is not listed', changedData({ status: 'CLOSED' }), {}],
    ['a field is not described', changedData({ resolved_account: '1' }), {}],
    ['the envelope has a field more', { ...RIGHT, request_id: '1' }, {}],
    ['the time is none', { ...RIGHT, meta: { timestamp: 'today' } }, {}],
    ['an error has a code of another operation', { ...ERROR, error_code: 'TRANSACTION_NOT_FOUND' }, { status: 400 }],
    ['the status is not described', ERROR, { status: 418 }],
    ['the type is not described', '<html>', { contentType: 'text/html' }],
    ['an unknown route is not in the envelope', { error: 'Not Found' }, { status: 404, path: '/nowhere' }],
  ] as const) {
    test(`is found wrong when ${name}`, () => assert.throws(() => judged(body, changes), assert.AssertionError));
  }

  test('that is noted is judged when its service closes, and once', () => {
    const origin = 'http://127.0.0.1:1';
    noteAnswersOf(origin, 'public');
    const response = new Response(null, { status: 200, headers: { 'content-type': 'application/json' } });
    noteAnswer(origin + path, 'POST', response, JSON.stringify(changedData({ status: 'CLOSED' })));
    assert.throws(() => judgeNotedAnswers([origin]), assert.AssertionError);
    judgeNotedAnswers([origin]);
  });
});
