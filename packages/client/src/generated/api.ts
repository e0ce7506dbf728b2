/** Generated from openapi.json. Do not edit: run `npm run generate`. */

/** An exact decimal, such as `150000.00`. */
export type Decimal = `${number}.${number}`;

/** The fields that are a `Decimal`, wherever they stand. */
export const DECIMAL_FIELDS = [
  'amount',
  'fee',
  'total_amount',
] as const;

/** Every `error_code` of the service (docs/contract.md 7.1). */
export const ERROR_CODES = [
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'TRANSACTION_NOT_FOUND',
  'INVALID_TRANSACTION_ID',
  'INVALID_BANK_CODE',
  'UNSUPPORTED_BANK',
  'INVALID_FORMAT',
  'INVALID_REQUEST',
  'ENDPOINT_NOT_FOUND',
  'DELIVERY_NOT_FOUND',
  'VALIDATION_NOT_FOUND',
  'VALIDATION_LIMIT_REACHED',
  'IDEMPOTENCY_KEY_REUSED',
  'ENDPOINT_LIMIT_REACHED',
  'ENDPOINT_DISABLED',
  'CURSOR_GONE',
  'SERVICE_UNAVAILABLE',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'NOT_ACCEPTABLE',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'HEADERS_TOO_LARGE',
  'INTERNAL_ERROR',
] as const;

export interface AccountCheck {
  /** Clearing code, BIC or short name; of an e-wallet, its name; of an alias, `BIFAST`. */
  readonly bank_code: string;
  /**
   * 5 to 34 digits. Of an e-wallet the mobile number: `0812…`, `62812…` or `+62812…`. Of an alias the mobile number
   * or the e-mail address.
   */
  readonly account_number: string;
  /** Extension: the name to compare with the name that the bank holds. */
  readonly expected_account_name?: string | undefined;
}

export interface AccountCheckEntry {
  readonly checked_at: Timestamp;
  /** The clearing code of the bank; for a sharia unit, its BIC. */
  readonly bank_code: string;
  /** Full bank name. */
  readonly bank_name: string;
  /** The verdict; null when there was none. */
  readonly status: AccountStatus | null;
  /** Why there was no verdict; null when there was one. */
  readonly error_code: NoVerdictError | null;
  /** How old the verdict was, when it was an earlier one. Usually null. */
  readonly age_seconds: number | null;
  /** The `X-Request-Id` of the response; null for a row of a bulk validation. */
  readonly request_id: string | null;
}

export interface AccountCheckList {
  readonly account_checks: readonly AccountCheckEntry[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

export interface AccountCheckTimes {
  /** Half took at most this long. */
  readonly p50_ms: number;
  /** 19 of 20 took at most this long. */
  readonly p95_ms: number;
}

/**
 * ACCOUNT_NUMBER: 5 to 34 digits. MOBILE_NUMBER: `0812…`, `62812…` or `+62812…`. ALIAS: a mobile number or an e-mail
 * address.
 */
export type AccountNumberType = 'ACCOUNT_NUMBER' | 'MOBILE_NUMBER' | 'ALIAS';

/**
 * ACTIVE: it can receive money. INACTIVE: it exists and is not active. NOT_FOUND: there is no such account. BLOCKED:
 * it is blocked or suspended.
 */
export type AccountStatus = 'ACTIVE' | 'INACTIVE' | 'NOT_FOUND' | 'BLOCKED';

export interface AccountValidation {
  /** The ID of a bulk validation. */
  readonly validation_id: string;
  readonly state: ValidationState;
  /** The number of rows that were sent. */
  readonly rows: number;
  /** The number of rows that have a result. */
  readonly results: number;
  readonly counts: ResultCounts;
  /** You reached a limit of your account checks: the validation is paused until this time. Usually null. */
  readonly held_until: Timestamp | null;
  readonly created_at: Timestamp;
  /** null while RUNNING. */
  readonly ended_at: Timestamp | null;
}

export interface AccountValidationCallback {
  /** What happened. */
  readonly type: 'account_validation.ended';
  readonly timestamp: Timestamp;
  /** Counts the events of the subject. Ignore lower ones. */
  readonly version: number;
  readonly data: AccountValidation;
}

export interface AccountValidationEvent {
  /** The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup. */
  readonly sequence: number;
  /** The `webhook-id` of its callbacks. */
  readonly event_id: string;
  /** What happened. */
  readonly type: 'account_validation.ended';
  readonly timestamp: Timestamp;
  /**
   * The version of the transaction, validation or bank after this event. A greater version is later; ignore smaller
   * ones.
   */
  readonly version: number;
  readonly data: AccountValidation;
}

export interface AccountValidationList {
  readonly validations: readonly AccountValidation[];
}

export interface AccountValidationProgress {
  /** The ID of a bulk validation. */
  readonly validation_id: string;
  readonly state: ValidationState;
  /** The number of rows that were sent. */
  readonly rows: number;
  /** The number of rows that have a result. */
  readonly results: number;
  readonly counts: ResultCounts;
  /** You reached a limit of your account checks: the validation is paused until this time. Usually null. */
  readonly held_until: Timestamp | null;
  readonly created_at: Timestamp;
  /** null while RUNNING. */
  readonly ended_at: Timestamp | null;
  /** An estimate from the pace so far; null when there is no result yet, or when the validation has ended. */
  readonly seconds_left: number | null;
  /** Accounts that a bank is being asked about. A cancelled validation still gets their results. */
  readonly in_flight: number;
  /** Accounts that wait to be checked, by bank. */
  readonly waiting: readonly WaitingBank[];
}

export interface AccountValidationResult {
  /** The position among the results, in the order in which they were recorded. */
  readonly sequence: number;
  /** The line of your table, whose header is line 1; or the position in your JSON array, from 1. */
  readonly row: number;
  /** As sent. */
  readonly reference: string | null;
  /** As sent. */
  readonly bank_code: string | null;
  /** Full bank name. */
  readonly bank_name: string | null;
  /** As sent. */
  readonly account_number: string | null;
  /** As sent. */
  readonly expected_account_name: string | null;
  /** The holder's name; null unless ACTIVE. */
  readonly account_name: string | null;
  /** true exactly when status is ACTIVE; null when there is no verdict. */
  readonly is_valid: boolean | null;
  /** The verdict; null when there is none. */
  readonly status: AccountStatus | null;
  /** null unless the row has `expected_account_name` and a verdict. */
  readonly name_match: NameMatch | null;
  /** Why there is no verdict. */
  readonly error_code: RowError | null;
  /** What is wrong and what to do next, in the language that `Accept-Language` prefers. */
  readonly message: string | null;
  readonly checked_at: Timestamp;
}

export interface AccountValidationResultList {
  readonly results: readonly AccountValidationResult[];
  /** Send it as `after` for the next page. */
  readonly next_after: number;
  /** Whether there are more results now. */
  readonly has_more: boolean;
}

export interface AccountValidationRow {
  /** Clearing code, BIC or short name. */
  readonly bank_code: string;
  /** As in check-account. */
  readonly account_number: string;
  /** The name to compare with the name that the bank holds. */
  readonly expected_account_name?: string | undefined;
  /** Your reference. The result repeats it. */
  readonly reference?: string | undefined;
}

export interface Bank {
  /** Clearing code. A sharia unit shares its bank's. Of an e-wallet, its name; of aliases, BIFAST. */
  readonly bank_code: string;
  /** ISO 9362; unique. null for what is no bank. */
  readonly bic: string | null;
  /** Full bank name. */
  readonly bank_name: string;
  /** Short names that `bank_code` accepts for this bank. */
  readonly short_names: readonly string[];
  readonly type: BankType;
  readonly account_number_type: AccountNumberType;
  /** The digits of each account number of this bank; null unless the bank publishes it. */
  readonly account_number_length: number | null;
  /** Whether accounts of this bank can be checked here. false: each check is UNSUPPORTED_BANK. */
  readonly check_account: boolean;
  /** null where check_account is false. */
  readonly status: BankStatus | null;
  /** When the status last changed; null if it has not changed since the service started. */
  readonly since: Timestamp | null;
  /** How long recent account checks took at the bank; null while there are too few. */
  readonly account_checks: AccountCheckTimes | null;
  /** How long recent disbursements were in PROCESS; null while there are too few. */
  readonly disbursements: DisbursementTimes | null;
}

export interface BankCallback {
  /** What happened. */
  readonly type: 'bank.down' | 'bank.up';
  readonly timestamp: Timestamp;
  /** Counts the events of the subject. Ignore lower ones. */
  readonly version: number;
  readonly data: BankState;
}

export interface BankEvent {
  /** The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup. */
  readonly sequence: number;
  /** The `webhook-id` of its callbacks. */
  readonly event_id: string;
  /** What happened. */
  readonly type: 'bank.down' | 'bank.up';
  readonly timestamp: Timestamp;
  /**
   * The version of the transaction, validation or bank after this event. A greater version is later; ignore smaller
   * ones.
   */
  readonly version: number;
  readonly data: BankState;
}

export interface BankList {
  readonly banks: readonly Bank[];
}

export interface BankState {
  /** Clearing code. A sharia unit shares its bank's. Of an e-wallet, its name; of aliases, BIFAST. */
  readonly bank_code: string;
  /** ISO 9362; unique. null for what is no bank. */
  readonly bic: string | null;
  /** Full bank name. */
  readonly bank_name: string;
  /** Availability of account checks. */
  readonly status: 'UP' | 'DOWN';
  readonly since: Timestamp;
}

/** Recent availability of account checks. DOWN: none succeeds. DEGRADED: some fail. */
export type BankStatus = 'UP' | 'DEGRADED' | 'DOWN';

export type BankType = 'BANK' | 'E_WALLET' | 'ALIAS_DIRECTORY';

export interface BatchRequest {
  /** Transaction IDs and reference IDs. The same one may be given more than once. */
  readonly ids: readonly string[];
}

export type BatchResult = FoundTransaction | TransactionError;

export interface BatchResults {
  /** One for each ID, in the order of `ids`. */
  readonly results: readonly BatchResult[];
}

export interface CallbackDelivery {
  /** The endpoint and the sequence of the event. */
  readonly delivery_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup. */
  readonly sequence: number;
  /** The `webhook-id` of its callbacks. */
  readonly event_id: string;
  readonly type: EventType;
  readonly state: DeliveryState;
  /** All attempts, including those before a replay. */
  readonly attempt_count: number;
  /** null unless pending. */
  readonly next_attempt_at: Timestamp | null;
  /** When it was delivered or exhausted. */
  readonly ended_at: Timestamp | null;
}

export interface CallbackDeliveryList {
  readonly deliveries: readonly CallbackDelivery[];
  /** null on the last page. */
  readonly next_after: string | null;
  /** Whether there is another page. */
  readonly has_more: boolean;
}

export interface CallbackDeliveryWithAttempts {
  /** The endpoint and the sequence of the event. */
  readonly delivery_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup. */
  readonly sequence: number;
  /** The `webhook-id` of its callbacks. */
  readonly event_id: string;
  readonly type: EventType;
  readonly state: DeliveryState;
  /** All attempts, including those before a replay. */
  readonly attempt_count: number;
  /** null unless pending. */
  readonly next_attempt_at: Timestamp | null;
  /** When it was delivered or exhausted. */
  readonly ended_at: Timestamp | null;
  /** The latest 100 attempts, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
}

export interface CallbackEndpoint {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url: string;
  /** The kinds of events that are sent to it. */
  readonly kinds: readonly EventType[];
  readonly status: EndpointStatus;
  /**
   * client: disabled by you. operator: disabled by the people who run the service. gone: it answered 410. failing:
   * no delivery succeeded for five days. null while enabled.
   */
  readonly disabled_reason: DisabledReason | null;
  /** The first failure since the last successful delivery; null when there is none. */
  readonly failing_since: Timestamp | null;
  readonly created_at: Timestamp;
}

export interface CallbackEndpointChange {
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url?: string | undefined;
  /** The kinds of events that are sent to it. */
  readonly kinds?: readonly EventType[] | undefined;
  /** true: send nothing. false: send callbacks. */
  readonly disabled?: boolean | undefined;
}

export interface CallbackEndpointList {
  readonly endpoints: readonly CallbackEndpoint[];
}

export interface CallbackEndpointWithSecret {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url: string;
  /** The kinds of events that are sent to it. */
  readonly kinds: readonly EventType[];
  readonly status: EndpointStatus;
  /**
   * client: disabled by you. operator: disabled by the people who run the service. gone: it answered 410. failing:
   * no delivery succeeded for five days. null while enabled.
   */
  readonly disabled_reason: DisabledReason | null;
  /** The first failure since the last successful delivery; null when there is none. */
  readonly failing_since: Timestamp | null;
  readonly created_at: Timestamp;
  /** Signs the callbacks (Standard Webhooks). Shown only in this response: store it. */
  readonly secret: string;
}

export interface CheckedAccount {
  /** As sent. */
  readonly bank_code: string;
  /** Full bank name. */
  readonly bank_name: string;
  /** As sent. */
  readonly account_number: string;
  /** The holder's name; null unless ACTIVE. */
  readonly account_name: string | null;
  /** true exactly when status is ACTIVE. */
  readonly is_valid: boolean;
  readonly status: AccountStatus;
  readonly name_match?: NameMatch | undefined;
}

export interface DeliveryAttempt {
  /** Counted from 1. */
  readonly attempt: number;
  readonly started_at: Timestamp;
  /** Until the response or the error. */
  readonly duration_ms: number;
  /** null when there was no response. */
  readonly http_status: number | null;
  /** The first KiB of the response body. */
  readonly answer: string | null;
  /** Why there was no response. */
  readonly error: string | null;
}

/** exhausted: every attempt of the retry schedule failed. It can be replayed. */
export type DeliveryState = 'pending' | 'delivered' | 'exhausted';

export type DisabledReason = 'client' | 'operator' | 'gone' | 'failing';

export interface DisbursementCallback {
  /** What happened. */
  readonly type: 'disbursement.succeeded' | 'disbursement.failed' | 'disbursement.overdue' | 'disbursement.reversed';
  readonly timestamp: Timestamp;
  /** Counts the events of the subject. Ignore lower ones. */
  readonly version: number;
  readonly data: Transaction;
}

export interface DisbursementEvent {
  /** The event's number in your sequence of events: from 1, without gaps; far higher after a restored backup. */
  readonly sequence: number;
  /** The `webhook-id` of its callbacks. */
  readonly event_id: string;
  /** What happened. */
  readonly type: 'disbursement.succeeded' | 'disbursement.failed' | 'disbursement.overdue' | 'disbursement.reversed';
  readonly timestamp: Timestamp;
  /**
   * The version of the transaction, validation or bank after this event. A greater version is later; ignore smaller
   * ones.
   */
  readonly version: number;
  readonly data: Transaction;
}

export interface DisbursementTimes {
  /** Half took at most this long. */
  readonly p50_seconds: number;
  /** 19 of 20 took at most this long. */
  readonly p95_seconds: number;
}

/** Nothing is sent to a disabled endpoint. */
export type EndpointStatus = 'enabled' | 'disabled';

export type Event = DisbursementEvent | AccountValidationEvent | BankEvent;

export interface EventList {
  readonly events: readonly Event[];
  /** The value of `after` for the next request. */
  readonly next_after: number;
  /** Whether there are more events now. */
  readonly has_more: boolean;
}

/** What happened. */
export type EventType = 
  | 'disbursement.succeeded'
  | 'disbursement.failed'
  | 'disbursement.overdue'
  | 'disbursement.reversed'
  | 'account_validation.ended'
  | 'bank.down'
  | 'bank.up';

/**
 * A code, a colon, and what happened and what to do. Programs read the code; new codes may be added
 * (docs/failure-reasons.md).
 */
export type FailureReason = string;

/** Found. */
export interface FoundTransaction {
  /** As sent. */
  readonly id: string;
  /** Grows by one with each event, like the `ETag` of check-status. */
  readonly version: number;
  readonly transaction: Transaction;
}

/** Only when the request has `expected_account_name`. */
export interface NameMatch {
  readonly result: NameMatchResult;
  /** Orders results of the same kind. */
  readonly score: number;
  /** Why; see docs/name-match.md. */
  readonly reasons: readonly NameMatchReason[];
}

export type NameMatchReason = 
  | 'EXACT'
  | 'SPACING'
  | 'TITLE_IGNORED'
  | 'TITLE_DIFFERS'
  | 'DEGREE_IGNORED'
  | 'COMPANY_FORM_IGNORED'
  | 'COMPANY_FORM_MISSING'
  | 'COMPANY_FORM_DIFFERS'
  | 'SPELLING_VARIANT'
  | 'SIMILAR_SPELLING'
  | 'ABBREVIATED'
  | 'INITIAL'
  | 'WORD_MISSING'
  | 'WORD_ORDER'
  | 'TYPO'
  | 'DIFFERENT_WORD'
  | 'NUMBER_DIFFERS'
  | 'BRANCH_DIFFERS'
  | 'CUT_OFF'
  | 'MASKED'
  | 'SINGLE_NAME'
  | 'JOINT_ACCOUNT'
  | 'DECEASED'
  | 'TOO_LONG'
  | 'TOO_SHORT'
  | 'EMPTY'
  | 'OTHER_SCRIPT'
  | 'NO_NAME';

/** MATCH: you can pay. CLOSE_MATCH: a person should compare the names. NOT_POSSIBLE: no comparison is possible. */
export type NameMatchResult = 'MATCH' | 'CLOSE_MATCH' | 'NO_MATCH' | 'NOT_POSSIBLE';

export interface NewAccountValidation {
  readonly accounts: readonly AccountValidationRow[];
}

export interface NewCallbackEndpoint {
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url: string;
  /** The kinds of events that are sent to it. */
  readonly kinds?: readonly EventType[] | undefined;
}

export type NoVerdictError = 
  | 'SERVICE_UNAVAILABLE'
  | 'UNSUPPORTED_BANK'
  | 'RATE_LIMIT_EXCEEDED'
  | 'INTERNAL_ERROR';

export interface ReplayRequest {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** RFC 3339: events from this time on. */
  readonly from: string;
  /** RFC 3339: events before this time. */
  readonly to: string;
  readonly state?: ReplayedState | undefined;
  /** The `next_after` of the previous response. */
  readonly after?: number | undefined;
}

export interface ReplayResult {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  readonly from: Timestamp;
  readonly to: Timestamp;
  /** Deliveries that this request made pending. */
  readonly replayed: number;
  /** null when the range is done. */
  readonly next_after: number | null;
  /** Whether to repeat the request with `after`. */
  readonly has_more: boolean;
}

/**
 * Only deliveries in this state; missing: events without a delivery to this endpoint, as far back as deliveries are
 * kept; `from` of the response says from when. All when omitted.
 */
export type ReplayedState = 'pending' | 'delivered' | 'exhausted' | 'missing';

/** The number of results of each kind. */
export interface ResultCounts {
  /** ACTIVE: these accounts can be paid. */
  readonly active: number;
  /** INACTIVE. */
  readonly inactive: number;
  /** NOT_FOUND. */
  readonly not_found: number;
  /** BLOCKED. */
  readonly blocked: number;
  /** Rows that cannot be checked: INVALID_BANK_CODE, INVALID_FORMAT, UNSUPPORTED_BANK. */
  readonly invalid: number;
  /** SERVICE_UNAVAILABLE: the bank gave no verdict, which says nothing about the account. */
  readonly no_verdict: number;
}

export interface RotatedSecret {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Signs the callbacks (Standard Webhooks). Shown only in this response: store it. */
  readonly secret: string;
  readonly former_secret_until: Timestamp;
}

export type RowError = 
  | 'INVALID_BANK_CODE'
  | 'INVALID_FORMAT'
  | 'UNSUPPORTED_BANK'
  | 'SERVICE_UNAVAILABLE';

export interface TestCallback {
  /** Whether the receiver answered with a 2xx. */
  readonly succeeded: boolean;
  /** The ID of this test callback. */
  readonly webhook_id: string;
  readonly started_at: Timestamp;
  /** Until the response or the error. */
  readonly duration_ms: number;
  /** null when there was no response. */
  readonly http_status: number | null;
  /** The first KiB of the response body. */
  readonly answer: string | null;
  /** Why there was no response. */
  readonly error: string | null;
}

/** ISO 8601, UTC, milliseconds. */
export type Timestamp = string;

export interface Transaction {
  /** Generated by the service. */
  readonly transaction_id: string;
  /** The client's unique reference ID. */
  readonly reference_id: string;
  readonly status: TransactionStatus;
  /** Disbursement amount. Exactly two decimals; read it as a decimal, not as a binary float. */
  readonly amount: Decimal;
  /** Transaction fee. Exactly two decimals; read it as a decimal, not as a binary float. */
  readonly fee: Decimal;
  /** amount + fee. Exactly two decimals; read it as a decimal, not as a binary float. */
  readonly total_amount: Decimal;
  /** Recipient bank code. */
  readonly bank_code: string;
  /** Recipient bank name. */
  readonly bank_name: string;
  /** Recipient account number. */
  readonly account_number: string;
  /** Recipient account name. */
  readonly account_name: string;
  /** Transaction description. */
  readonly description: string;
  readonly created_at: Timestamp;
  /** null while PROCESS. */
  readonly processed_at: Timestamp | null;
  /** null unless FAILED. */
  readonly failure_reason: FailureReason | null;
}

/** Not found, or not a valid ID. */
export interface TransactionError {
  /** As sent. */
  readonly id: string;
  readonly error_code: 'TRANSACTION_NOT_FOUND' | 'INVALID_TRANSACTION_ID';
  /** What is wrong, for people. */
  readonly message: string;
}

export interface TransactionList {
  readonly transactions: readonly Transaction[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

/** PROCESS is not final and may last 30 minutes with some banks; SUCCESS and FAILED are final. */
export type TransactionStatus = 'PROCESS' | 'SUCCESS' | 'FAILED';

/** COMPLETED: each row has a result. CANCELLED: no more accounts are checked. */
export type ValidationState = 'RUNNING' | 'COMPLETED' | 'CANCELLED';

export interface WaitingBank {
  /** Clearing code. */
  readonly bank_code: string;
  /** Full bank name. */
  readonly bank_name: string;
  /** The number of accounts that wait. */
  readonly accounts: number;
  readonly bank_status: BankStatus;
}

/** What a callback carries. */
export type Callback = DisbursementCallback | AccountValidationCallback | BankCallback;

/** What each operation takes and answers in `data`, by its operationId. */
export interface Operations {
  /** Check a disbursement by transaction ID or reference ID */
  readonly checkStatus: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: Transaction;
  };
  /** Check many disbursements at once */
  readonly checkStatusBatch: {
    readonly path: null;
    readonly query: null;
    readonly body: BatchRequest;
    readonly data: BatchResults;
  };
  /** Check a disbursement by reference ID */
  readonly checkStatusByReference: {
    readonly path: null;
    readonly query: {
      readonly reference_id: string;
    };
    readonly body: null;
    readonly data: Transaction;
  };
  /** List and search disbursements, the newest first */
  readonly listTransactions: {
    readonly path: null;
    readonly query: {
      readonly status?: TransactionStatus | undefined;
      readonly created_from?: string | undefined;
      readonly created_to?: string | undefined;
      readonly processed_from?: string | undefined;
      readonly processed_to?: string | undefined;
      readonly bank_code?: string | undefined;
      readonly account_number?: string | undefined;
      readonly amount_from?: string | undefined;
      readonly amount_to?: string | undefined;
      readonly overdue?: 'true' | 'false' | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: TransactionList;
  };
  /** Check a bank account before paying to it */
  readonly checkAccount: {
    readonly path: null;
    readonly query: null;
    readonly body: AccountCheck;
    readonly data: CheckedAccount;
  };
  /** List your own account checks, the newest first */
  readonly listAccountChecks: {
    readonly path: null;
    readonly query: {
      readonly account_number?: string | undefined;
      readonly bank_code?: string | undefined;
      readonly request_id?: string | undefined;
      readonly checked_from?: string | undefined;
      readonly checked_to?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: AccountCheckList;
  };
  /** List banks and their availability */
  readonly listBanks: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: BankList;
  };
  /** Get a bank and its availability */
  readonly getBank: {
    readonly path: {
      readonly code: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: Bank;
  };
  /** List your bulk validations */
  readonly listAccountValidations: {
    readonly path: null;
    readonly query: {
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: AccountValidationList;
  };
  /** Create a bulk validation */
  readonly createAccountValidation: {
    readonly path: null;
    readonly query: null;
    readonly body: NewAccountValidation;
    readonly data: AccountValidation;
  };
  /** Get a bulk validation's progress */
  readonly getAccountValidation: {
    readonly path: {
      readonly validation_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: AccountValidationProgress;
  };
  /** List or stream the results of a bulk validation */
  readonly listAccountValidationResults: {
    readonly path: {
      readonly validation_id: string;
    };
    readonly query: {
      readonly after?: number | undefined;
      readonly limit?: number | undefined;
      readonly follow?: 'true' | 'false' | undefined;
    };
    readonly body: null;
    readonly data: AccountValidationResultList;
  };
  /** Cancel a bulk validation */
  readonly cancelAccountValidation: {
    readonly path: {
      readonly validation_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: AccountValidation;
  };
  /** List events in order */
  readonly listEvents: {
    readonly path: null;
    readonly query: {
      readonly after?: number | undefined;
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: EventList;
  };
  /** Register a callback endpoint */
  readonly registerCallbackEndpoint: {
    readonly path: null;
    readonly query: null;
    readonly body: NewCallbackEndpoint;
    readonly data: CallbackEndpointWithSecret;
  };
  /** List callback endpoints */
  readonly listCallbackEndpoints: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: CallbackEndpointList;
  };
  /** Get a callback endpoint */
  readonly getCallbackEndpoint: {
    readonly path: {
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: CallbackEndpoint;
  };
  /** Change, disable or enable a callback endpoint */
  readonly changeCallbackEndpoint: {
    readonly path: {
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: CallbackEndpointChange;
    readonly data: CallbackEndpoint;
  };
  /** Rotate the secret of a callback endpoint */
  readonly rotateCallbackSecret: {
    readonly path: {
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: RotatedSecret;
  };
  /** Send a test callback to an endpoint */
  readonly testCallbackEndpoint: {
    readonly path: {
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: TestCallback;
  };
  /** List deliveries, latest events first */
  readonly listCallbackDeliveries: {
    readonly path: null;
    readonly query: {
      readonly endpoint_id?: string | undefined;
      readonly state?: DeliveryState | undefined;
      readonly after?: string | undefined;
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: CallbackDeliveryList;
  };
  /** Get a delivery with its attempts */
  readonly getCallbackDelivery: {
    readonly path: {
      readonly delivery_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: CallbackDeliveryWithAttempts;
  };
  /** Send a callback again */
  readonly replayCallbackDelivery: {
    readonly path: {
      readonly delivery_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: CallbackDelivery;
  };
  /** Send all callbacks of a time range again */
  readonly replayCallbackDeliveries: {
    readonly path: null;
    readonly query: null;
    readonly body: ReplayRequest;
    readonly data: ReplayResult;
  };
}

/** Method and path of each operation. */
export const OPERATIONS = {
  checkStatus: ['GET', '/api/v1/check-status/{transaction_id}'],
  checkStatusBatch: ['POST', '/api/v1/check-status/batch'],
  checkStatusByReference: ['GET', '/api/v1/check-status'],
  listTransactions: ['GET', '/api/v1/transactions'],
  checkAccount: ['POST', '/api/v1/check-account'],
  listAccountChecks: ['GET', '/api/v1/account-checks'],
  listBanks: ['GET', '/api/v1/banks'],
  getBank: ['GET', '/api/v1/banks/{code}'],
  listAccountValidations: ['GET', '/api/v1/account-validations'],
  createAccountValidation: ['POST', '/api/v1/account-validations'],
  getAccountValidation: ['GET', '/api/v1/account-validations/{validation_id}'],
  listAccountValidationResults: ['GET', '/api/v1/account-validations/{validation_id}/results'],
  cancelAccountValidation: ['POST', '/api/v1/account-validations/{validation_id}/cancel'],
  listEvents: ['GET', '/api/v1/events'],
  registerCallbackEndpoint: ['POST', '/api/v1/callback-endpoints'],
  listCallbackEndpoints: ['GET', '/api/v1/callback-endpoints'],
  getCallbackEndpoint: ['GET', '/api/v1/callback-endpoints/{endpoint_id}'],
  changeCallbackEndpoint: ['PATCH', '/api/v1/callback-endpoints/{endpoint_id}'],
  rotateCallbackSecret: ['POST', '/api/v1/callback-endpoints/{endpoint_id}/rotate-secret'],
  testCallbackEndpoint: ['POST', '/api/v1/callback-endpoints/{endpoint_id}/test'],
  listCallbackDeliveries: ['GET', '/api/v1/callback-deliveries'],
  getCallbackDelivery: ['GET', '/api/v1/callback-deliveries/{delivery_id}'],
  replayCallbackDelivery: ['POST', '/api/v1/callback-deliveries/{delivery_id}/replay'],
  replayCallbackDeliveries: ['POST', '/api/v1/callback-deliveries/replay'],
} as const;
