/** Generated from openapi-operator.json. Do not edit: run `npm run generate`. */

/** An exact decimal, such as `150000.00`. */
export type Decimal = `${number}.${number}`;

/** The fields that are a `Decimal`, wherever they stand. */
export const DECIMAL_FIELDS = [
  'amount',
  'fee',
  'total_amount',
] as const;

export interface AccountCheckSearch {
  /** The client. */
  readonly client_id?: string | undefined;
  /** Clearing code, BIC or short name. */
  readonly bank_code?: string | undefined;
  /** 5 to 34 digits. */
  readonly account_number?: string | undefined;
  /** RFC 3339: checks from this time on. */
  readonly from?: string | undefined;
  /** RFC 3339: checks up to this time. */
  readonly to?: string | undefined;
  /** How many items at most. */
  readonly limit?: number | undefined;
}

/**
 * ACTIVE: it can receive money. INACTIVE: it exists and is not active. NOT_FOUND: there is no such account. BLOCKED:
 * it is blocked or suspended.
 */
export type AccountStatus = 'ACTIVE' | 'INACTIVE' | 'NOT_FOUND' | 'BLOCKED';

export interface AddSnapKeyRequest {
  /** PEM (SubjectPublicKeyInfo), RSA of 2048 bits or more. */
  readonly public_key: string;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface AddedSnapKey {
  /** The client. */
  readonly client_id: string;
  /** The beginning of its SHA-256. */
  readonly key_id: string;
  /** false: the client had this key already. */
  readonly is_new: boolean;
}

export interface ApproveProposalRequest {
  /** Of the proposal that was read: what differs from it is not approved. */
  readonly payload_hash: string;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ApprovedProposal {
  /** The proposal. */
  readonly proposal_id: string;
  readonly state: ProposalState;
  /** What needs the approval. */
  readonly kinds: readonly FourEyesKind[];
  /** What is done when it is approved, as the audit names it. */
  readonly action: string;
  /** null where it concerns none. */
  readonly client_id: string | null;
  /** null where it is the client itself. */
  readonly subject_id: string | null;
  /** Why, as its proposer says. */
  readonly reason: string;
  /** Exactly what is executed, as JSON text. */
  readonly payload: string;
  /** SHA-256 of `payload`. An approval names it. */
  readonly payload_hash: string;
  /** null for nothing. */
  readonly before: string | null;
  /** Who proposed it. */
  readonly proposed_by: string;
  /** The name of that person. */
  readonly proposed_by_name: string;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
  /** null until then. */
  readonly decided_by: string | null;
  /** null until then. */
  readonly decided_by_name: string | null;
  /** null until then. */
  readonly decided_at: Timestamp | null;
  /** null until then. */
  readonly decision_reason: string | null;
  /** null for nothing. */
  readonly result: string | null;
}

export interface AuditRecord {
  readonly checked_at: Timestamp;
  /** The client. */
  readonly client_id: string;
  /** The bank, by ISO 9362. */
  readonly bic: string;
  /** A keyed hash: equal for checks of the same account. */
  readonly account_hash: string;
  /** null when there was none. */
  readonly verdict: AccountStatus | null;
  /** null when there was a verdict. */
  readonly no_verdict_reason: string | null;
  /** null when none was asked. */
  readonly rail: string | null;
  /** Of a verdict from the verdict cache. */
  readonly age_seconds: number | null;
  /** null in a bulk validation. */
  readonly request_id: string | null;
}

export interface AuditRecordList {
  readonly account_checks: readonly AuditRecord[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export interface Backlog {
  /** Overdue transactions. null while PostgreSQL cannot be read. */
  readonly overdue: number | null;
  /** Transactions for review. null while PostgreSQL cannot be read. */
  readonly reviews: number | null;
  /** Callbacks that are not delivered yet. null while PostgreSQL cannot be read. */
  readonly callbacks_pending: number | null;
  /** How long the oldest callback that is due has been due. null while PostgreSQL cannot be read. */
  readonly oldest_callback_seconds: number | null;
  /** Accounts of bulk validations without a result. null while PostgreSQL cannot be read. */
  readonly validation_rows: number | null;
}

export interface BankAvailability {
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly banks: readonly BankHours[];
}

export interface BankHour {
  readonly hour: Timestamp;
  /** Account inquiries that were sent, and have ended. */
  readonly inquiries: number;
  /** Those with a verdict, or in which the bank rejected that one account. */
  readonly answered: number;
  /** `answered` of `inquiries`; null where there were none. */
  readonly answered_share: number | null;
  /** Not sent over one of its rails: breaker open, too many in flight, quota used up. */
  readonly not_sent: number;
  /** How long it was DOWN for all processes: from the first failure until it answered again. */
  readonly minutes_down: number;
  /** Half of the verdicts and timeouts took at most this long, to a fifth. null where nothing was measured. */
  readonly p50_ms: number | null;
  /** 19 of 20 took at most this long, to a fifth. null where nothing was measured. */
  readonly p95_ms: number | null;
  /** The most frequent first. */
  readonly reasons: readonly CountedReason[];
}

export interface BankHours {
  /** Clearing code. */
  readonly bank_code: string;
  /** null for an e-wallet. */
  readonly bic: string | null;
  /** Full bank name. */
  readonly bank_name: string;
  readonly total: BankPeriod;
  /** In the order of time. */
  readonly hours: readonly BankHour[];
}

export interface BankPeriod {
  /** Account inquiries that were sent, and have ended. */
  readonly inquiries: number;
  /** Those with a verdict, or in which the bank rejected that one account. */
  readonly answered: number;
  /** `answered` of `inquiries`; null where there were none. */
  readonly answered_share: number | null;
  /** Not sent over one of its rails: breaker open, too many in flight, quota used up. */
  readonly not_sent: number;
  /** How long it was DOWN for all processes: from the first failure until it answered again. */
  readonly minutes_down: number;
  /** Half of the verdicts and timeouts took at most this long, to a fifth. null where nothing was measured. */
  readonly p50_ms: number | null;
  /** 19 of 20 took at most this long, to a fifth. null where nothing was measured. */
  readonly p95_ms: number | null;
  /** The most frequent first. */
  readonly reasons: readonly CountedReason[];
}

export type BreakerState = 'closed' | 'half_open' | 'open';

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

export interface CallbackReplay {
  /** The replay. */
  readonly replay_id: string;
  /** The client. */
  readonly client_id: string;
  /** null for a range of events. */
  readonly from: Timestamp | null;
  /** As `from`. It is not later than when the replay was started. */
  readonly to: Timestamp | null;
  /** null for a range of time. */
  readonly first_sequence: number | null;
  /** As `first_sequence`. */
  readonly last_sequence: number | null;
  /** null: all. */
  readonly delivery_state: ReplayedState | null;
  readonly state: ReplayState;
  /** null for people with a role below `engineer`. */
  readonly created_by: string | null;
  readonly created_at: Timestamp;
  /** null while it runs. */
  readonly ended_at: Timestamp | null;
  readonly endpoints: readonly ReplayProgress[];
}

export interface CallbackReplayList {
  readonly replays: readonly CallbackReplay[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export interface CallbackReplayOrder {
  /** The client. */
  readonly client_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id?: string | undefined;
  /** RFC 3339: events from this time on. */
  readonly from?: string | undefined;
  /** RFC 3339: events before this time. */
  readonly to?: string | undefined;
  /** The first event. */
  readonly first_sequence?: number | undefined;
  /** The last event. */
  readonly last_sequence?: number | undefined;
  readonly state?: ReplayedState | undefined;
  /** Count, and change nothing. */
  readonly dry_run?: boolean | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason?: string | undefined;
}

export interface CancelReplayRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ChangeClientCallbackEndpointRequest {
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url?: string | undefined;
  /** The kinds of events that are sent to it. */
  readonly kinds?: readonly EventType[] | undefined;
  /** true: send nothing. false: send callbacks. */
  readonly disabled?: boolean | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ChangeClientRequest {
  readonly limits?: ChangedLimits | undefined;
  /**
   * What its tokens may be used for. Of the scopes for the operator listener, a caller gives only those that it
   * could use itself, and no person gives `feed:write`.
   */
  readonly scopes?: readonly Scope[] | undefined;
  /** Whether to exempt it from the enumeration guard. */
  readonly trusted?: boolean | undefined;
  /** Whether to refuse its requests. */
  readonly disabled?: boolean | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ChangeClientSnapRequest {
  /** The X-PARTNER-ID of its requests. */
  readonly partner_id?: string | undefined;
  readonly external_ids?: ExternalIdRule | undefined;
  readonly body_hash?: SnapBodyHash | undefined;
  /** By how much X-TIMESTAMP may be off. */
  readonly clock_skew_seconds?: number | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ChangedLimits {
  /** Status checks per minute. null for the default. */
  readonly check_status_per_minute?: number | null | undefined;
  /** Account checks per minute. null for the default. */
  readonly check_account_per_minute?: number | null | undefined;
  /** Different accounts that it may check in a day. null for the default. */
  readonly accounts_per_day?: number | null | undefined;
}

export interface ClientCallbackEndpoint {
  /** The client. */
  readonly client_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Scheme, host and port of its URL. The rest may have keys of the client. */
  readonly origin: string;
  /** The kinds of events that are sent to it. */
  readonly kinds: readonly EventType[];
  readonly status: EndpointStatus;
  /** null while enabled. */
  readonly disabled_reason: DisabledReason | null;
  /** null while enabled. */
  readonly disabled_at: Timestamp | null;
  /** The first failure since the last successful delivery. */
  readonly failing_since: Timestamp | null;
  readonly created_at: Timestamp;
}

export interface ClientCallbackEndpointList {
  readonly endpoints: readonly ClientCallbackEndpoint[];
}

export interface ClientLimits {
  /** Status checks per minute. null for the default. */
  readonly check_status_per_minute: number | null;
  /** Account checks per minute. null for the default. */
  readonly check_account_per_minute: number | null;
  /** Different accounts that it may check in a day. null for the default. */
  readonly accounts_per_day: number | null;
}

export interface ClientSecret {
  /** The beginning of its SHA-256. */
  readonly secret_id: string;
  readonly created_at: Timestamp;
  /** The day in Jakarta of the last login with it; null before the first. */
  readonly last_used_on: string | null;
}

export interface ClientSecretList {
  readonly secrets: readonly ClientSecret[];
}

export interface ConsoleSettings {
  /** The version of Tiba. */
  readonly version: string;
  readonly environment: InstallationEnvironment;
  /** null for no link. */
  readonly log_url: string | null;
  /** null for no link. */
  readonly trace_url: string | null;
}

export interface CountedReason {
  /** Why there was no verdict. */
  readonly reason: string;
  /** How often. */
  readonly times: number;
}

export interface CreateClientRequest {
  /** The client. */
  readonly client_id: string;
  /** For people; the client_id if it is left out. */
  readonly name?: string | undefined;
  /**
   * What its tokens may be used for. Of the scopes for the operator listener, a caller gives only those that it
   * could use itself, and no person gives `feed:write`.
   */
  readonly scopes: readonly Scope[];
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface CreateClientSecretRequest {
  /** Whether the others end at once. */
  readonly replace_all?: boolean | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface CreatedClient {
  /** The client. */
  readonly client_id: string;
  /** Its name. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly limits: ClientLimits;
  /** Exempt from the enumeration guard, except for `accounts_per_day`. */
  readonly trusted: boolean;
  /** Whether its requests are refused. */
  readonly disabled: boolean;
  /** Shown only in this response. */
  readonly client_secret: string;
}

export interface CreatedClientSecret {
  /** The client. */
  readonly client_id: string;
  /** The beginning of its SHA-256. */
  readonly secret_id: string;
  /** Shown only in this response. */
  readonly client_secret: string;
}

/** exhausted: every attempt of the retry schedule failed. It can be replayed. */
export type DeliveryState = 'pending' | 'delivered' | 'exhausted';

export type DisabledReason = 'client' | 'operator' | 'gone' | 'failing';

export interface DurationBucket {
  /** The upper bound; null for no bound. */
  readonly up_to_ms: number | null;
  /** How many took no longer. */
  readonly count: number;
}

export interface EndClientSnapRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface EndedSession {
  /** Always true. */
  readonly ended: boolean;
}

export interface EndedSnap {
  /** The client. */
  readonly client_id: string;
  /** false: it could not use it before. */
  readonly ended: boolean;
}

export type EndpointStatus = 'enabled' | 'disabled';

export interface EnumerationSignal {
  readonly signal: EnumerationSignalName;
  readonly level: RestrictionLevel;
  /** A ratio for `not_found_ratio`, a number of accounts for others. */
  readonly figure: number;
  readonly since: Timestamp;
  readonly until: Timestamp;
}

export type EnumerationSignalName = 
  | 'accounts_per_day'
  | 'not_found_ratio'
  | 'sequential_numbers'
  | 'clustered_numbers';

/** What happened. */
export type EventType = 
  | 'disbursement.succeeded'
  | 'disbursement.failed'
  | 'disbursement.overdue'
  | 'disbursement.reversed'
  | 'account_validation.ended'
  | 'bank.down'
  | 'bank.up';

/** strict: an X-EXTERNAL-ID is numeric and may be used once a day. off: as often as the client likes. */
export type ExternalIdRule = 'strict' | 'off';

/** How the text of `q` was understood. identifier: one of the five identifiers. filters: the search had no `q`. */
export type FoundBy = 
  | 'identifier'
  | 'account_number'
  | 'amount'
  | 'request_id'
  | 'filters';

export type FourEyesKind = 'replay' | 'limits' | 'trust' | 'keys' | 'reviews';

export interface InquireRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

/**
 * What the bank answered: a status, `unknown_transfer`, `no_status` (no answer, or one without a status) or
 * `no_answer_yet`. Or why it was not asked: `too_soon` (it was asked a moment ago, or expects its first inquiry
 * later), `no_slot` (all slots are taken, or the bank fails: try again) or `not_supported` (the rail cannot be
 * asked, or the status was final).
 */
export type InquireResult = 
  | 'not_supported'
  | 'too_soon'
  | 'no_slot'
  | 'no_answer_yet'
  | 'no_status'
  | 'unknown_transfer'
  | 'PROCESS'
  | 'SUCCESS'
  | 'FAILED';

export interface InquiredTransaction {
  /** Whether the bank was asked. */
  readonly inquired: boolean;
  readonly result: InquireResult;
  readonly status: TransactionStatus;
}

export type InstallationEnvironment = 'sandbox' | 'staging' | 'production';

export interface LastCallbackAttempt {
  readonly at: Timestamp;
  /** null when there was no response. */
  readonly http_status: number | null;
  /** Why there was no response. */
  readonly error: string | null;
}

export interface NoVerdicts {
  /** Why there was no verdict. */
  readonly reason: string;
  /** null when there was no answer. */
  readonly rail_code: string | null;
  /** How often. */
  readonly times: number;
  readonly last_at: Timestamp;
}

export interface OperatorAction {
  /** From 1, without gaps. */
  readonly sequence: number;
  readonly happened_at: Timestamp;
  /**
   * `person:` with the issuer of the login, `#` and the subject there (by a link of the sandbox: the subject alone);
   * the client of a token; or `user:` and the system user of a command.
   */
  readonly actor: string;
  /** The address of the request, or the host of the command. */
  readonly origin: string;
  /** What was done. */
  readonly action: string;
  /** null where it concerns none. */
  readonly client_id: string | null;
  /** null where it is the client itself. */
  readonly subject_id: string | null;
  /** null for a command without `--reason`. */
  readonly reason: string | null;
  /** null where nothing was. */
  readonly before: string | null;
  /** null where nothing was. */
  readonly after: string | null;
  /** null for a machine and a command. */
  readonly actor_name: string | null;
  /** null as above. */
  readonly session_id: string | null;
  /** null as above. */
  readonly role: string | null;
  /** null without one. */
  readonly proposal_id: string | null;
  /** null without approval. */
  readonly approved_by: string | null;
  /** null without approval. */
  readonly approved_by_name: string | null;
  /** Of the record before; empty for the first. */
  readonly previous_hash: string;
  /** SHA-256 of this record and the one before. */
  readonly hash: string;
}

export interface OperatorActionList {
  readonly actions: readonly OperatorAction[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

export interface OperatorClient {
  /** The client. */
  readonly client_id: string;
  /** Its name. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly limits: ClientLimits;
  /** Exempt from the enumeration guard, except for `accounts_per_day`. */
  readonly trusted: boolean;
  /** Whether its requests are refused. */
  readonly disabled: boolean;
}

export interface OperatorClientList {
  readonly clients: readonly OperatorClient[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

export interface OperatorSession {
  readonly person: SessionPerson;
  /** The kinds of changes that a second person must approve. */
  readonly four_eyes: readonly string[];
  /** For the header `X-CSRF-Token` of each request that changes something. */
  readonly csrf_token: string;
}

export interface OperatorTransaction {
  /** The client. */
  readonly client_id: string;
  /** The transaction. */
  readonly transaction_id: string;
  /** The client's reference ID. */
  readonly reference_id: string;
  readonly status: TransactionStatus;
  /** Without the fee. Exactly two decimals. */
  readonly amount: Decimal;
  /** The fee. Exactly two decimals. */
  readonly fee: Decimal;
  /** `amount + fee`. Exactly two decimals. */
  readonly total_amount: Decimal;
  /** ISO 4217. */
  readonly currency: string;
  /** Recipient bank code. */
  readonly bank_code: string;
  /** Recipient bank name. */
  readonly bank_name: string;
  /** Masked. */
  readonly account_number: string;
  /** Masked. */
  readonly account_name: string;
  readonly created_at: Timestamp;
  /** null while in PROCESS. */
  readonly processed_at: Timestamp | null;
  /** null unless FAILED. */
  readonly failure_reason: string | null;
  /** When the bank returned the money. */
  readonly reversed_at: Timestamp | null;
  /** By when it should be final; null when it is. */
  readonly expected_by: Timestamp | null;
  /** null unless it took longer than expected. */
  readonly overdue_since: Timestamp | null;
  /** null when Tiba does not know it. */
  readonly rail: string | null;
  /** null without `rail`. */
  readonly rail_reference: string | null;
  /** null until it is known. */
  readonly bank_reference: string | null;
  /** null without one. */
  readonly external_id: string | null;
  /** Grows with each event. */
  readonly version: number;
}

export interface OrderedCallbackReplay {
  /** Whether it was only counted. */
  readonly dry_run: boolean;
  /** null unless it was only counted. */
  readonly count: ReplayCount | null;
  /** null if it was only counted. */
  readonly replay: CallbackReplay | null;
}

export interface OutcomeCount {
  /** An HTTP status, or how it ended. */
  readonly outcome: string;
  /** How often since the start. */
  readonly count: number;
}

export interface OutcomeCounts {
  /** A route, a rail or a kind of event. */
  readonly subject: string;
  readonly outcomes: readonly OutcomeCount[];
  readonly durations: readonly DurationBucket[];
}

export interface OverdueTransaction {
  /** The client. */
  readonly client_id: string;
  /** The transaction. */
  readonly transaction_id: string;
  /** The client's reference ID. */
  readonly reference_id: string;
  /** Recipient bank code. */
  readonly bank_code: string;
  /** Recipient bank name. */
  readonly bank_name: string;
  /** Masked. */
  readonly account_number: string;
  /** Exactly two decimals. */
  readonly amount: Decimal;
  /** ISO 4217. */
  readonly currency: string;
  readonly created_at: Timestamp;
  readonly expected_by: Timestamp;
  readonly overdue_since: Timestamp;
}

export interface OverdueTransactionList {
  readonly transactions: readonly OverdueTransaction[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export interface Overview {
  readonly at: Timestamp;
  /**
   * The process that answers; with several processes on one machine, their parent. Counts of another one have
   * another start.
   */
  readonly source: string;
  /** By the route of the public API. */
  readonly requests: readonly OutcomeCounts[];
  /** By rail. */
  readonly account_inquiries: readonly OutcomeCounts[];
  /** By rail. */
  readonly status_inquiries: readonly OutcomeCounts[];
  /** By the kind of event. */
  readonly callbacks: readonly OutcomeCounts[];
  readonly backlog: Backlog;
  /** Banks whose circuit breaker is open, as the process that answers sees them. */
  readonly banks_down: number;
}

export interface PersonSession {
  /** The session. */
  readonly session_id: string;
  /** null for a link of the sandbox. */
  readonly issuer: string | null;
  /** The `sub` of the login. */
  readonly subject: string;
  /** The name of the person. */
  readonly name: string;
  readonly role: Role;
  /** The address from which the person logged in. */
  readonly origin: string;
  readonly created_at: Timestamp;
  readonly last_used_at: Timestamp;
  readonly expires_at: Timestamp;
}

export interface PersonSessionList {
  readonly sessions: readonly PersonSession[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export interface Proposal {
  /** The proposal. */
  readonly proposal_id: string;
  readonly state: ProposalState;
  /** What needs the approval. */
  readonly kinds: readonly FourEyesKind[];
  /** What is done when it is approved, as the audit names it. */
  readonly action: string;
  /** null where it concerns none. */
  readonly client_id: string | null;
  /** null where it is the client itself. */
  readonly subject_id: string | null;
  /** Why, as its proposer says. */
  readonly reason: string;
  /** Exactly what is executed, as JSON text. */
  readonly payload: string;
  /** SHA-256 of `payload`. An approval names it. */
  readonly payload_hash: string;
  /** null for nothing. */
  readonly before: string | null;
  /** Who proposed it. */
  readonly proposed_by: string;
  /** The name of that person. */
  readonly proposed_by_name: string;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
  /** null until then. */
  readonly decided_by: string | null;
  /** null until then. */
  readonly decided_by_name: string | null;
  /** null until then. */
  readonly decided_at: Timestamp | null;
  /** null until then. */
  readonly decision_reason: string | null;
}

export interface ProposalList {
  readonly proposals: readonly Proposal[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

/**
 * pending: to be decided. executed: approved, and the change was made. refused. withdrawn: by its proposer.
 * outdated: when it was approved, what it is about had changed, or sessions of its proposer were revoked; nothing
 * was done. expired: it was not decided in time.
 */
export type ProposalState = 
  | 'pending'
  | 'executed'
  | 'refused'
  | 'withdrawn'
  | 'outdated'
  | 'expired';

export interface QuotaLeft {
  /** null where the contract has none. */
  readonly second: number | null;
  /** null where the contract has none. */
  readonly day: number | null;
}

export interface Rail {
  /** The name of the connection. */
  readonly name: string;
  /** Whether it tells closed accounts from unknown ones. */
  readonly tells_closed: boolean;
  /** Inquiries that wait for an answer. */
  readonly in_flight: number;
  /** null where the contract has none. */
  readonly concurrency_max: number | null;
  readonly quota_left: QuotaLeft;
  readonly banks: readonly RailBank[];
}

export interface RailBank {
  /** Clearing code. */
  readonly bank_code: string;
  /** null for an e-wallet. */
  readonly bic: string | null;
  /** Full bank name. */
  readonly bank_name: string;
  readonly breaker: BreakerState;
  /**
   * Since when the breaker has been closed, or has not been: probes that fail do not change it. null when it has not
   * changed since the start.
   */
  readonly breaker_since: Timestamp | null;
  /** How long the breaker stays open. */
  readonly next_inquiry_in_seconds: number;
  /** Inquiries that wait for an answer. */
  readonly in_flight: number;
  readonly recent: RecentInquiries;
  readonly no_verdicts: readonly NoVerdicts[];
}

export interface RailList {
  readonly rails: readonly Rail[];
}

export interface RecentInquiries {
  /** The verdicts among the recent inquiries; those that timed out are not counted. */
  readonly answers: number;
  /** The median; null while there are too few. */
  readonly p50_ms: number | null;
  /** The 95th percentile; null while there are too few. */
  readonly p95_ms: number | null;
}

export interface RefuseProposalRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RegisterClientCallbackEndpointRequest {
  /** Receives the callbacks: https, a public host, no user name or fragment. */
  readonly url: string;
  /** The kinds of events that are sent to it. */
  readonly kinds?: readonly EventType[] | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RegisteredClientCallbackEndpoint {
  /** The client. */
  readonly client_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Scheme, host and port of its URL. The rest may have keys of the client. */
  readonly origin: string;
  /** The kinds of events that are sent to it. */
  readonly kinds: readonly EventType[];
  readonly status: EndpointStatus;
  /** null while enabled. */
  readonly disabled_reason: DisabledReason | null;
  /** null while enabled. */
  readonly disabled_at: Timestamp | null;
  /** The first failure since the last successful delivery. */
  readonly failing_since: Timestamp | null;
  readonly created_at: Timestamp;
  /** Signs the callbacks (Standard Webhooks). Shown only in this response: store it. */
  readonly secret: string;
}

export interface RemoveSnapKeyRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RemovedSnapKey {
  /** The client. */
  readonly client_id: string;
  /** The beginning of its SHA-256. */
  readonly key_id: string;
}

export interface RenewSnapSecretRequest {
  /** For how many hours the former secret stays valid. */
  readonly former_hours?: number | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RenewedSnapSecret {
  /** The client. */
  readonly client_id: string;
  /** Shown only in this response. */
  readonly snap_secret: string;
}

export interface ReplayCount {
  /** Events that would be sent. */
  readonly events: number;
  /** Transactions that they are about. */
  readonly transactions: number;
  /** Endpoints that they would be sent to. */
  readonly endpoints: number;
  /** Callbacks: an event counts once for each endpoint. */
  readonly deliveries: number;
  /** false: there are more. Counting ends after 1.5 seconds. */
  readonly is_complete: boolean;
}

export type ReplayOutcome = 'completed' | 'disabled' | 'removed';

export interface ReplayProgress {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** null until it ends. disabled, removed: the endpoint was. */
  readonly outcome: ReplayOutcome | null;
  /** Events that were examined. */
  readonly examined: number;
  /** Deliveries that became pending. */
  readonly replayed: number;
  /** How much was examined. */
  readonly progress: number;
}

/** RUNNING until it ends. */
export type ReplayState = 'RUNNING' | 'COMPLETED' | 'CANCELLED';

/** Only deliveries in this state; missing: events that the endpoint wants and was never sent. */
export type ReplayedState = 'pending' | 'delivered' | 'exhausted' | 'missing';

export interface ResendRequest {
  /** The client of the delivery. */
  readonly client_id: string;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ResolveReviewRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface ResolvedReview {
  /** false: it was not under review, and nothing was done. */
  readonly resolved: boolean;
}

export interface RestrictedClient {
  /** The client. */
  readonly client_id: string;
  /** Different accounts since midnight in Jakarta. */
  readonly accounts_today: number;
  /** How many it may check. */
  readonly accounts_per_day: number;
  readonly signals: readonly EnumerationSignal[];
}

export interface RestrictedClientList {
  readonly clients: readonly RestrictedClient[];
}

export type RestrictionLevel = 'slowed' | 'blocked';

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

export interface RetireClientSecretRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RetiredClientSecret {
  /** The client. */
  readonly client_id: string;
  /** The beginning of its SHA-256. */
  readonly secret_id: string;
}

export interface RevokeSessionsRequest {
  /** The `sub` of the login. */
  readonly subject?: string | undefined;
  /** The session. */
  readonly session_id?: string | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RevokeTokensRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RevokedSessions {
  /** How many sessions have ended. */
  readonly revoked: number;
}

export interface RevokedTokens {
  /** The client. */
  readonly client_id: string;
  /** Always true. */
  readonly tokens_revoked: boolean;
}

export type Role = 'viewer' | 'support' | 'engineer' | 'approver';

export interface RotateClientCallbackSecretRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RotateSigningKeysRequest {
  readonly algorithm?: SigningAlgorithm | undefined;
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface RotatedClientCallbackSecret {
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Signs the callbacks (Standard Webhooks). Shown only in this response: store it. */
  readonly secret: string;
  readonly former_secret_until: Timestamp;
}

export interface RotatedSigningKey {
  /** The `kid` of tokens. */
  readonly key_id: string;
  readonly algorithm: SigningAlgorithm;
}

export interface RunningAccountValidation {
  /** The client. */
  readonly client_id: string;
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

export interface RunningAccountValidationList {
  readonly validations: readonly RunningAccountValidation[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export type Scope = 
  | 'status:read'
  | 'transactions:read'
  | 'account:check'
  | 'events:read'
  | 'callbacks:manage'
  | 'feed:write'
  | 'operator:read'
  | 'operator:write'
  | 'operator:unmask'
  | 'audit:read';

export interface ServiceProcess {
  /** Made at its start. */
  readonly process_id: string;
  /** Whether it is the process that answers. */
  readonly is_this_one: boolean;
  /** The name of its host. */
  readonly host_name: string;
  /** Its process ID there. */
  readonly pid: number;
  /** The version of Tiba. */
  readonly version: string;
  readonly started_at: Timestamp;
  /** The age of its last sign of life. */
  readonly last_heartbeat_seconds: number;
  /** From 0 to 1. */
  readonly event_loop_utilization: number;
  /** Its memory. */
  readonly resident_bytes: number;
  /** How far its clock is ahead of PostgreSQL's; null while unknown. */
  readonly clock_skew_ms: number | null;
}

export interface ServiceProcessList {
  readonly processes: readonly ServiceProcess[];
}

export interface SessionPerson {
  /** As proposals and the record of actions name the person. */
  readonly actor: string;
  /** This session, in lists and records. It opens nothing. */
  readonly session_id: string;
  /** The `sub` of the login. */
  readonly subject: string;
  /** For people. */
  readonly name: string;
  /** The role of the login and those that it includes, the highest last. */
  readonly roles: readonly Role[];
  readonly expires_at: Timestamp;
}

export type SigningAlgorithm = 'EdDSA' | 'ES256' | 'RS256';

/** minified: the body as sent, or minified. without_whitespace: the body without any whitespace. */
export type SnapBodyHash = 'minified' | 'without_whitespace';

export interface SnapClient {
  /** The client. */
  readonly client_id: string;
  /** null for a client that cannot use the SNAP listener. */
  readonly snap: SnapOptions | null;
}

export interface SnapOptions {
  /** The X-PARTNER-ID of its requests. */
  readonly partner_id: string;
  readonly external_ids: ExternalIdRule;
  readonly body_hash: SnapBodyHash;
  /** By how much X-TIMESTAMP may be off. */
  readonly clock_skew_seconds: number;
  /** Of its RSA public keys. */
  readonly key_ids: readonly string[];
  /** Whether it can sign symmetrically. */
  readonly has_secret: boolean;
  /** Until when the former secret is valid too; null without one. */
  readonly former_secret_until: Timestamp | null;
}

/** What a support agent can read or send to a customer. Times are those of Jakarta. */
export interface SupportSummary {
  /** In English. */
  readonly en: string;
  /** In Indonesian. */
  readonly id: string;
}

export interface TimelineEntry {
  readonly at: Timestamp;
  readonly kind: TimelineKind;
  /** In English. */
  readonly text: string;
  /** In Indonesian. */
  readonly text_id: string;
  readonly facts: readonly TimelineFact[];
}

export interface TimelineFact {
  /** What it is. */
  readonly name: string;
  /** null where there is none. */
  readonly value: string | null;
}

export type TimelineKind = 
  | 'created'
  | 'status_update'
  | 'bank_inquiry'
  | 'event'
  | 'callback_delivery'
  | 'callback_attempt'
  | 'account_check'
  | 'operator_action';

/** ISO 8601, UTC, milliseconds. */
export type Timestamp = string;

export interface TransactionForReview {
  /** The client. */
  readonly client_id: string;
  /** The transaction. */
  readonly transaction_id: string;
  /** The rail that carried the transfer. */
  readonly rail: string;
  /** The reference of the transfer there. */
  readonly rail_reference: string;
  readonly created_at: Timestamp;
  /** Since when its bank does not know the transfer. */
  readonly unknown_since: Timestamp | null;
  /** When it was set aside for a person. */
  readonly review_since: Timestamp | null;
  /** When the bank was last asked. */
  readonly last_inquired_at: Timestamp | null;
}

export interface TransactionForReviewList {
  readonly transactions: readonly TransactionForReview[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

export interface TransactionSearchResult {
  /** null when nothing was found. */
  readonly found_by: FoundBy | null;
  /** Other meanings of `q` that find something. */
  readonly also_found_by: readonly FoundBy[];
  readonly transactions: readonly OperatorTransaction[];
  /**
   * With a request ID: the checks. `transactions` then has what the client paid to the account of the first one in
   * the hour after it.
   */
  readonly account_checks: readonly AuditRecord[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

/** PROCESS is not final and may last 30 minutes with some banks; SUCCESS and FAILED are final. */
export type TransactionStatus = 'PROCESS' | 'SUCCESS' | 'FAILED';

export interface TransactionTimeline {
  readonly summary: SupportSummary;
  readonly entries: readonly TimelineEntry[];
}

export interface TransactionWithSummary {
  readonly transaction: OperatorTransaction;
  readonly summary: SupportSummary;
  /** Whether it is set aside for a person: its bank does not know it. */
  readonly in_review: boolean;
}

export interface UndeliveredCallback {
  /** The client. */
  readonly client_id: string;
  /** The endpoint and the sequence of the event. */
  readonly delivery_id: string;
  /** Scheme, host and port of the endpoint's URL. */
  readonly origin: string;
  /** null when the event was removed. */
  readonly type: string | null;
  /** null as above. */
  readonly subject_id: string | null;
  /** null as above. */
  readonly occurred_at: Timestamp | null;
  readonly state: UndeliveredState;
  /** All attempts so far. */
  readonly attempt_count: number;
  /** null unless pending. */
  readonly next_attempt_at: Timestamp | null;
  /** When it was given up. */
  readonly ended_at: Timestamp | null;
  /** How the last attempt ended; null before the first one. */
  readonly last_attempt: LastCallbackAttempt | null;
}

export interface UndeliveredCallbackList {
  readonly deliveries: readonly UndeliveredCallback[];
  /** Send it as `cursor` for the next page. null: this is the last one. */
  readonly next_cursor: string | null;
  /** Whether there is a next page. */
  readonly has_more: boolean;
}

/** exhausted: every attempt failed. pending: more follow. */
export type UndeliveredState = 'exhausted' | 'pending';

export interface UnhealthyCallbackEndpoint {
  /** The client. */
  readonly client_id: string;
  /** The ID of a callback endpoint. */
  readonly endpoint_id: string;
  /** Scheme, host and port of its URL. */
  readonly origin: string;
  readonly status: UnhealthyStatus;
  /** null while enabled. */
  readonly disabled_reason: DisabledReason | null;
  /** null while enabled. */
  readonly disabled_at: Timestamp | null;
  /** The first failure since the last successful delivery. */
  readonly failing_since: Timestamp | null;
  readonly created_at: Timestamp;
}

export interface UnhealthyCallbackEndpointList {
  readonly endpoints: readonly UnhealthyCallbackEndpoint[];
  /** Whether there are more than `limit`. */
  readonly has_more: boolean;
}

/** failing: deliveries fail. disabled: nothing is sent to it. */
export type UnhealthyStatus = 'disabled' | 'failing';

export interface UnmaskRequest {
  /** Why, in 5 to 500 characters. It is recorded. */
  readonly reason: string;
}

export interface UnmaskedTransaction {
  /** The client. */
  readonly client_id: string;
  /** The transaction. */
  readonly transaction_id: string;
  /** The whole account number. */
  readonly account_number: string;
  /** The whole name. */
  readonly account_name: string;
}

/** COMPLETED: each row has a result. CANCELLED: no more accounts are checked. */
export type ValidationState = 'RUNNING' | 'COMPLETED' | 'CANCELLED';

/** What each operation takes and answers in `data`, by its operationId. */
export interface Operations {
  /** List failing and disabled callback endpoints */
  readonly listUnhealthyCallbackEndpoints: {
    readonly path: null;
    readonly query: {
      readonly state?: UnhealthyStatus | undefined;
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: UnhealthyCallbackEndpointList;
  };
  /** Search the transactions of all clients, the newest first */
  readonly searchTransactions: {
    readonly path: null;
    readonly query: {
      readonly q?: string | undefined;
      readonly transaction_id?: string | undefined;
      readonly reference_id?: string | undefined;
      readonly rail_reference?: string | undefined;
      readonly bank_reference?: string | undefined;
      readonly external_id?: string | undefined;
      readonly request_id?: string | undefined;
      readonly account_number?: string | undefined;
      readonly amount?: string | undefined;
      readonly bank_code?: string | undefined;
      readonly client_id?: string | undefined;
      readonly status?: TransactionStatus | undefined;
      readonly overdue?: 'true' | 'false' | undefined;
      readonly day?: string | undefined;
      readonly created_from?: string | undefined;
      readonly created_to?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: TransactionSearchResult;
  };
  /** Read one transaction of any client */
  readonly readTransaction: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: {
      readonly client_id?: string | undefined;
    };
    readonly body: null;
    readonly data: TransactionWithSummary;
  };
  /** Read what happened to one transaction */
  readonly readTransactionTimeline: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: {
      readonly client_id?: string | undefined;
    };
    readonly body: null;
    readonly data: TransactionTimeline;
  };
  /** Read a transaction's account number and name */
  readonly unmaskTransaction: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: {
      readonly client_id?: string | undefined;
    };
    readonly body: UnmaskRequest;
    readonly data: UnmaskedTransaction;
  };
  /** Ask the bank about a transaction now */
  readonly inquireTransaction: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: {
      readonly client_id?: string | undefined;
    };
    readonly body: InquireRequest;
    readonly data: InquiredTransaction;
  };
  /** List callbacks that were not delivered */
  readonly listUndeliveredCallbacks: {
    readonly path: null;
    readonly query: {
      readonly client_id?: string | undefined;
      readonly endpoint_id?: string | undefined;
      readonly state?: UndeliveredState | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: UndeliveredCallbackList;
  };
  /** End the review of a transaction */
  readonly resolveTransactionReview: {
    readonly path: {
      readonly transaction_id: string;
    };
    readonly query: {
      readonly client_id?: string | undefined;
    };
    readonly body: ResolveReviewRequest;
    readonly data: ResolvedReview;
  };
  /** Send a callback of any client again */
  readonly resendCallbackDelivery: {
    readonly path: {
      readonly delivery_id: string;
    };
    readonly query: null;
    readonly body: ResendRequest;
    readonly data: CallbackDelivery;
  };
  /** Send many callbacks of one client again */
  readonly createCallbackReplay: {
    readonly path: null;
    readonly query: null;
    readonly body: CallbackReplayOrder;
    readonly data: OrderedCallbackReplay;
  };
  /** List replays of callbacks, the latest first */
  readonly listCallbackReplays: {
    readonly path: null;
    readonly query: {
      readonly client_id?: string | undefined;
      readonly state?: ReplayState | undefined;
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: CallbackReplayList;
  };
  /** Read the progress of a replay of callbacks */
  readonly readCallbackReplay: {
    readonly path: {
      readonly replay_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: CallbackReplay;
  };
  /** End a replay of callbacks */
  readonly cancelCallbackReplay: {
    readonly path: {
      readonly replay_id: string;
    };
    readonly query: null;
    readonly body: CancelReplayRequest;
    readonly data: CallbackReplay;
  };
  /** List the clients with their scopes and limits */
  readonly listClients: {
    readonly path: null;
    readonly query: {
      readonly q?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: OperatorClientList;
  };
  /** Create a client */
  readonly createClient: {
    readonly path: null;
    readonly query: null;
    readonly body: CreateClientRequest;
    readonly data: CreatedClient;
  };
  /** Read a client with its scopes and limits */
  readonly readClient: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: OperatorClient;
  };
  /** Change a client's limits or scopes, trust it or disable it */
  readonly changeClient: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: ChangeClientRequest;
    readonly data: OperatorClient;
  };
  /** Revoke the access tokens that a client has now */
  readonly revokeClientTokens: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: RevokeTokensRequest;
    readonly data: RevokedTokens;
  };
  /** List the secrets of a client by their IDs */
  readonly listClientSecrets: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: ClientSecretList;
  };
  /** Create a secret of a client */
  readonly createClientSecret: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: CreateClientSecretRequest;
    readonly data: CreatedClientSecret;
  };
  /** End one of two secrets of a client */
  readonly retireClientSecret: {
    readonly path: {
      readonly client_id: string;
      readonly secret_id: string;
    };
    readonly query: null;
    readonly body: RetireClientSecretRequest;
    readonly data: RetiredClientSecret;
  };
  /** List the callback endpoints of a client */
  readonly listClientCallbackEndpoints: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: ClientCallbackEndpointList;
  };
  /** Register a callback endpoint of a client */
  readonly registerClientCallbackEndpoint: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: RegisterClientCallbackEndpointRequest;
    readonly data: RegisteredClientCallbackEndpoint;
  };
  /** Change, disable or enable a callback endpoint of a client */
  readonly changeClientCallbackEndpoint: {
    readonly path: {
      readonly client_id: string;
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: ChangeClientCallbackEndpointRequest;
    readonly data: ClientCallbackEndpoint;
  };
  /** Rotate the secret that signs the callbacks of an endpoint */
  readonly rotateEndpointSecret: {
    readonly path: {
      readonly client_id: string;
      readonly endpoint_id: string;
    };
    readonly query: null;
    readonly body: RotateClientCallbackSecretRequest;
    readonly data: RotatedClientCallbackSecret;
  };
  /** Read how a client uses the SNAP listener */
  readonly readClientSnap: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: SnapClient;
  };
  /** Let a client use the SNAP listener, or change how it does */
  readonly changeClientSnap: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: ChangeClientSnapRequest;
    readonly data: SnapClient;
  };
  /** Add an RSA public key of a client */
  readonly addClientSnapKey: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: AddSnapKeyRequest;
    readonly data: AddedSnapKey;
  };
  /** Remove a public key of a client */
  readonly removeClientSnapKey: {
    readonly path: {
      readonly client_id: string;
      readonly key_id: string;
    };
    readonly query: null;
    readonly body: RemoveSnapKeyRequest;
    readonly data: RemovedSnapKey;
  };
  /** Create the secret of symmetric signatures of a client */
  readonly renewClientSnapSecret: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: RenewSnapSecretRequest;
    readonly data: RenewedSnapSecret;
  };
  /** End a client's use of the SNAP listener */
  readonly endClientSnap: {
    readonly path: {
      readonly client_id: string;
    };
    readonly query: null;
    readonly body: EndClientSnapRequest;
    readonly data: EndedSnap;
  };
  /** Sign access tokens with a new key */
  readonly rotateSigningKeys: {
    readonly path: null;
    readonly query: null;
    readonly body: RotateSigningKeysRequest;
    readonly data: RotatedSigningKey;
  };
  /** List what operators did, the latest first */
  readonly listOperatorActions: {
    readonly path: null;
    readonly query: {
      readonly actor?: string | undefined;
      readonly action?: string | undefined;
      readonly client_id?: string | undefined;
      readonly subject_id?: string | undefined;
      readonly from?: string | undefined;
      readonly to?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: OperatorActionList;
  };
  /** List overdue transactions */
  readonly listOverdueTransactions: {
    readonly path: null;
    readonly query: {
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: OverdueTransactionList;
  };
  /** List transactions for review */
  readonly listTransactionsForReview: {
    readonly path: null;
    readonly query: {
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: TransactionForReviewList;
  };
  /** List running bulk validations */
  readonly listRunningAccountValidations: {
    readonly path: null;
    readonly query: {
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: RunningAccountValidationList;
  };
  /** Search the audit log of account checks */
  readonly searchAccountChecks: {
    readonly path: null;
    readonly query: null;
    readonly body: AccountCheckSearch;
    readonly data: AuditRecordList;
  };
  /** List clients that the enumeration guard restricts */
  readonly listRestrictedClients: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: RestrictedClientList;
  };
  /** List the rails and the state of each bank */
  readonly listRails: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: RailList;
  };
  /** Read how banks answered, hour by hour */
  readonly readBankAvailability: {
    readonly path: null;
    readonly query: {
      readonly bank?: string | undefined;
      readonly days?: number | undefined;
    };
    readonly body: null;
    readonly data: BankAvailability;
  };
  /** List the processes that share this database */
  readonly listProcesses: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: ServiceProcessList;
  };
  /** Who is logged in */
  readonly readSession: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: OperatorSession;
  };
  /** Log out */
  readonly endSession: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: EndedSession;
  };
  /** List proposed changes, the latest first */
  readonly listProposals: {
    readonly path: null;
    readonly query: {
      readonly state?: ProposalState | undefined;
      readonly client_id?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    };
    readonly body: null;
    readonly data: ProposalList;
  };
  /** Read a proposed change */
  readonly readProposal: {
    readonly path: {
      readonly proposal_id: string;
    };
    readonly query: null;
    readonly body: null;
    readonly data: Proposal;
  };
  /** Approve a proposed change, which makes it */
  readonly approveProposal: {
    readonly path: {
      readonly proposal_id: string;
    };
    readonly query: null;
    readonly body: ApproveProposalRequest;
    readonly data: ApprovedProposal;
  };
  /** Refuse a proposed change, or withdraw your own */
  readonly refuseProposal: {
    readonly path: {
      readonly proposal_id: string;
    };
    readonly query: null;
    readonly body: RefuseProposalRequest;
    readonly data: Proposal;
  };
  /** List who is logged in, the latest login first */
  readonly listSessions: {
    readonly path: null;
    readonly query: {
      readonly subject?: string | undefined;
      readonly limit?: number | undefined;
    };
    readonly body: null;
    readonly data: PersonSessionList;
  };
  /** Log a person out */
  readonly revokeSessions: {
    readonly path: null;
    readonly query: null;
    readonly body: RevokeSessionsRequest;
    readonly data: RevokedSessions;
  };
  /** Read what the service does now */
  readonly readOverview: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: Overview;
  };
  /** Read the settings of the console */
  readonly getConsoleSettings: {
    readonly path: null;
    readonly query: null;
    readonly body: null;
    readonly data: ConsoleSettings;
  };
}

/** Method and path of each operation. */
export const OPERATIONS = {
  listUnhealthyCallbackEndpoints: ['GET', '/operator/v1/callback-endpoints'],
  searchTransactions: ['GET', '/operator/v1/transactions'],
  readTransaction: ['GET', '/operator/v1/transactions/{transaction_id}'],
  readTransactionTimeline: ['GET', '/operator/v1/transactions/{transaction_id}/timeline'],
  unmaskTransaction: ['POST', '/operator/v1/transactions/{transaction_id}/unmask'],
  inquireTransaction: ['POST', '/operator/v1/transactions/{transaction_id}/inquire'],
  listUndeliveredCallbacks: ['GET', '/operator/v1/callback-deliveries'],
  resolveTransactionReview: ['POST', '/operator/v1/transactions/{transaction_id}/resolve-review'],
  resendCallbackDelivery: ['POST', '/operator/v1/callback-deliveries/{delivery_id}/resend'],
  createCallbackReplay: ['POST', '/operator/v1/callback-replays'],
  listCallbackReplays: ['GET', '/operator/v1/callback-replays'],
  readCallbackReplay: ['GET', '/operator/v1/callback-replays/{replay_id}'],
  cancelCallbackReplay: ['POST', '/operator/v1/callback-replays/{replay_id}/cancel'],
  listClients: ['GET', '/operator/v1/clients'],
  createClient: ['POST', '/operator/v1/clients'],
  readClient: ['GET', '/operator/v1/clients/{client_id}'],
  changeClient: ['PATCH', '/operator/v1/clients/{client_id}'],
  revokeClientTokens: ['POST', '/operator/v1/clients/{client_id}/revoke-tokens'],
  listClientSecrets: ['GET', '/operator/v1/clients/{client_id}/secrets'],
  createClientSecret: ['POST', '/operator/v1/clients/{client_id}/secrets'],
  retireClientSecret: ['POST', '/operator/v1/clients/{client_id}/secrets/{secret_id}/retire'],
  listClientCallbackEndpoints: ['GET', '/operator/v1/clients/{client_id}/callback-endpoints'],
  registerClientCallbackEndpoint: ['POST', '/operator/v1/clients/{client_id}/callback-endpoints'],
  changeClientCallbackEndpoint: ['PATCH', '/operator/v1/clients/{client_id}/callback-endpoints/{endpoint_id}'],
  rotateEndpointSecret: ['POST', '/operator/v1/clients/{client_id}/callback-endpoints/{endpoint_id}/rotate-secret'],
  readClientSnap: ['GET', '/operator/v1/clients/{client_id}/snap'],
  changeClientSnap: ['PATCH', '/operator/v1/clients/{client_id}/snap'],
  addClientSnapKey: ['POST', '/operator/v1/clients/{client_id}/snap/keys'],
  removeClientSnapKey: ['POST', '/operator/v1/clients/{client_id}/snap/keys/{key_id}/remove'],
  renewClientSnapSecret: ['POST', '/operator/v1/clients/{client_id}/snap/secret'],
  endClientSnap: ['POST', '/operator/v1/clients/{client_id}/snap/end'],
  rotateSigningKeys: ['POST', '/operator/v1/signing-keys/rotate'],
  listOperatorActions: ['GET', '/operator/v1/audit'],
  listOverdueTransactions: ['GET', '/operator/v1/overdue'],
  listTransactionsForReview: ['GET', '/operator/v1/reviews'],
  listRunningAccountValidations: ['GET', '/operator/v1/account-validations'],
  searchAccountChecks: ['POST', '/operator/v1/account-checks/search'],
  listRestrictedClients: ['GET', '/operator/v1/enumeration'],
  listRails: ['GET', '/operator/v1/rails'],
  readBankAvailability: ['GET', '/operator/v1/banks/availability'],
  listProcesses: ['GET', '/operator/v1/processes'],
  readSession: ['GET', '/operator/v1/session'],
  endSession: ['DELETE', '/operator/v1/session'],
  listProposals: ['GET', '/operator/v1/proposals'],
  readProposal: ['GET', '/operator/v1/proposals/{proposal_id}'],
  approveProposal: ['POST', '/operator/v1/proposals/{proposal_id}/approve'],
  refuseProposal: ['POST', '/operator/v1/proposals/{proposal_id}/refuse'],
  listSessions: ['GET', '/operator/v1/sessions'],
  revokeSessions: ['POST', '/operator/v1/sessions/revoke'],
  readOverview: ['GET', '/operator/v1/overview'],
  getConsoleSettings: ['GET', '/operator/v1/console'],
} as const;
