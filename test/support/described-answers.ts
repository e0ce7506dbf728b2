import assert from 'node:assert/strict';
import { assertValid, documentOf, type Listener, operationsOf, responseOf } from './openapi.ts';

/**
 * Holds the answers of the services under test against the OpenAPI documents. An answer is noted when it arrives and
 * judged when its service closes: compiling schemas in between would delay a service in the same process.
 */

interface NotedAnswer {
  readonly listener: Listener;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

/** Of answers that differ only in values, this many are judged. */
const OF_EACH_KIND = 3;

const noted = new Map<string, NotedAnswer[]>();
const listeners = new Map<string, Listener>();

/** From now on, answers of this origin are noted, until they are judged. */
export const noteAnswersOf = (origin: string, listener: Listener): void => void listeners.set(origin, listener);

export function noteAnswer(url: string, method: string, response: Response, text: string): void {
  const { origin, pathname } = new URL(url);
  const listener = listeners.get(origin);
  if (listener === undefined || method === 'HEAD') return;
  const { status, headers } = response;
  const code = /"error_code":"(\w+)"/.exec(text)?.[1] ?? '';
  const kind = `${listener} ${method} ${status} ${code} ${templateOf(listener, method, pathname) ?? ''}`;
  const ofKind = noted.get(kind) ?? [];
  if (ofKind.length >= OF_EACH_KIND) return;
  ofKind.push({ listener, method, path: pathname, status, contentType: headers.get('content-type'), text });
  noted.set(kind, ofKind);
}

/** @throws AssertionError for a noted answer that its document does not describe */
export function judgeNotedAnswers(origins: readonly string[]): void {
  for (const origin of origins) listeners.delete(origin);
  const answers = [...noted.values()].flat();
  noted.clear();
  for (const answer of answers) judge(answer);
}

/** Codes that belong to no operation. Routes that this service does not have, such as those of its own issuer, too. */
const OF_NO_OPERATION = /"error_code":"(?:NOT_FOUND|METHOD_NOT_ALLOWED)"/;

/** Documents of other standards, and routes that the documents do not describe. */
const NOT_DESCRIBED = /^\/(?:openapi|reference|docs\b|sandbox\/|operator\/login|console\/)/;

export function judge({ listener, method: given, path, status, contentType, text }: NotedAnswer): void {
  const method = given.toUpperCase();
  if (NOT_DESCRIBED.test(path)) return;
  const name = `${method} ${path} ${status}`;
  const document = documentOf(listener);
  const template = templateOf(listener, method, path);
  const operation = template === null ? undefined : document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined || OF_NO_OPERATION.test(text)) {
    const { schema } = document.components.responses['OtherError']?.content?.['application/json'] ?? assert.fail();
    assertValid(document, schema, JSON.parse(text), `${name}, of no operation`);
    return;
  }
  const response = responseOf(document, operation, String(status));
  assert.ok(response !== undefined, `${name} is not described in the OpenAPI document: add it to the operation`);
  if (response.content === undefined) {
    assert.equal(text, '', `${name} is described without a body`);
    return;
  }
  const type = contentType?.split(';', 1)[0] ?? '';
  const media = response.content[type];
  assert.ok(media !== undefined, `${name} is ${type}, which is not described`);
  if (type === 'application/json') assertValid(document, media.schema, JSON.parse(text), name);
  if (UNAVAILABLE.test(text)) assert.match(text, TEMPORARILY, name);
}

/** docs/contract.md 7.1: the message of this error says that it is temporary, in the language of the answer. */
const UNAVAILABLE = /"error_code":"SERVICE_UNAVAILABLE"\}$/;
const TEMPORARILY = /"message":"(?:Temporarily unavailable|Sementara tidak tersedia): /;

interface Template {
  readonly template: string;
  readonly method: string;
  readonly pattern: RegExp;
}

const templates = new Map<Listener, readonly Template[]>();

/** The path of a document that a path matches and that has the method; one without parameters comes first. */
function templateOf(listener: Listener, method: string, path: string): string | null {
  const known =
    templates.get(listener) ??
    operationsOf(documentOf(listener))
      .map(({ path: template, method: own }) => ({
        template,
        method: own.toUpperCase(),
        pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      }))
      .sort((one, other) => one.template.split('{').length - other.template.split('{').length);
  templates.set(listener, known);
  return known.find((each) => each.method === method && each.pattern.test(path))?.template ?? null;
}
