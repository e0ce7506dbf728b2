/** What an answer carries, in addition to its data. */
export interface AnswerDetails {
  readonly status: number;
  readonly headers: Headers;
  /** `X-Request-Id`: quote it when you ask the operator. */
  readonly requestId: string | null;
  /** The text for people. */
  readonly message: string;
  /** The version of a transaction (`ETag`): of two answers, events or callbacks the higher one is the newer. */
  readonly version: number | null;
}

export interface WithResponse<T> {
  readonly data: T;
  readonly response: AnswerDetails;
}

/** The data of an answer. `.withResponse()` gives status, headers and request ID too. */
export interface Call<T> extends Promise<T> {
  withResponse(): Promise<WithResponse<T>>;
}

export function toCall<T>(answer: Promise<WithResponse<T>>): Call<T> {
  const data = answer.then((answered) => answered.data);
  return Object.assign(data, {
    withResponse() {
      // A failure is reported once: by the promise that the caller has chosen.
      data.catch(() => undefined);
      return answer;
    },
  });
}
