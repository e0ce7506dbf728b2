/** One HTTP answer of the bank. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonAnswer(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}
