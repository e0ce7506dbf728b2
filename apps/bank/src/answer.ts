/** One HTTP answer of the bank. */
export interface BankResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonResponse(status: number, body: object): BankResponse {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}
