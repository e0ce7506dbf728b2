import { type Repository, type Rule, SERVER, select, textOf } from './repository.ts';

/**
 * Each statement names the client whose rows it reads or writes: every table that belongs to clients is tied to a
 * parameter, or to the rows that one gives, by `client_id`. So no statement mixes the rows of clients by accident, and a
 * distributed PostgreSQL finds each row in one place (docs/decisions/0057-one-place.md).
 */

const FOLDER = `${SERVER}postgres/`;
const SCHEMA = 'schema.sql';

const OPERATOR = 'the operator reads over all clients';
const OLD = 'deletes what is old of all clients, each through an index that client_id leads';
const CLAIM = 'work of all clients that processes claim';
const CACHE = 'what every process caches of all clients';
const RESTORE = 'marks all clients after a backup was restored';
const ARCHIVE = 'the archive goes over all clients';
const PERSON = 'a person is paid by several clients';
const PEOPLE = 'a proposal belongs to the operator; its client_id only says whom it is about';
const BUILT = 'its conditions are built; they name the client';
const EVERY = 'each row of a batch is tied to the client of its own event';

/** Statements that read or write rows of all clients: the file, the function or constant that has it, and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  'account-checks.ts findAccountChecks': OPERATOR,
  'account-checks.ts findAccountChecksByRequest': OPERATOR,
  'account-checks.ts listAccountChecks': BUILT,
  'account-checks.ts deleteAccountChecks': OLD,
  'account-checks.ts findOldestAccountCheck': OLD,
  'account-validation-rows.ts findAbandonedRows': CLAIM,
  'account-validation-rows.ts QUEUES_SQL': CLAIM,
  'account-validations.ts listRunningValidations': OPERATOR,
  'account-validations.ts deleteEndedValidations': OLD,
  'account-validations.ts deleteJobsWithoutRows': OLD,
  'archive-files.ts listArchivePositions': ARCHIVE,
  'archive-files.ts beginArchive': ARCHIVE,
  'archive-files.ts endArchive': ARCHIVE,
  'archive-files.ts hasArchive': ARCHIVE,
  'archive-files.ts findArchiveOwner': ARCHIVE,
  'archive-files.ts countArchivedClients': ARCHIVE,
  'archive-files.ts listRemovableArchiveFiles': ARCHIVE,
  'archive-files.ts claimRemovableArchiveFiles': ARCHIVE,
  'archive-files.ts releaseRetention': ARCHIVE,
  'archive-files.ts isRetentionHeld': ARCHIVE,
  'backlog.ts readBacklog': OPERATOR,
  'bank-findings.ts listBankFindings': 'a finding belongs to a process; its client_id only says whose inquiries fail',
  'callback-deliveries.ts FIND_DUE_SQL': CLAIM,
  'callback-endpoints.ts listUnhealthyEndpoints': OPERATOR,
  'callback-outbox-list.ts listUndelivered': OPERATOR,
  'clients.ts SELECT': CACHE,
  'clients.ts findClientsWithScope': 'a notice about a bank goes to all clients',
  'events-retention.ts findOldestAttempt': OLD,
  'events-retention.ts GROWN_SQL': OLD,
  'events-retention.ts findOldestEvent': OLD,
  'events.ts INSERT_SQL': EVERY,
  'events.ts listEvents': 'its client_id = $1 has no alias',
  'operator-proposals.ts findProposal': PEOPLE,
  'operator-proposals.ts lockProposal': PEOPLE,
  'operator-proposals.ts decideProposal': PEOPLE,
  'operator-proposals.ts endProposalsOf': PEOPLE,
  'operator-proposals.ts deleteOldProposals': OLD,
  'operator-actions.ts verifyOperatorActions': OPERATOR,
  'personal-data.ts listTransactionsPaidTo': PERSON,
  'personal-data.ts CONFLICTS_SQL': PERSON,
  'personal-data.ts listValidationRowsOf': PERSON,
  'personal-data.ts eraseAccountHashes': PERSON,
  'range-replays.ts findRangeReplay': OPERATOR,
  'range-replays.ts COMPLETE_SQL': CLAIM,
  'range-replays.ts listOpenReplays': CLAIM,
  'range-replays.ts deleteRangeReplays': OLD,
  'restores.ts record': RESTORE,
  'restores.ts endWhatPeopleDid': RESTORE,
  'snap-clients.ts findAllSnapClients': CACHE,
  'snap-clients.ts setSnapClient': 'a partner ID belongs to one client of all',
  'snap-external-ids.ts deleteExternalIds': OLD,
  'status-inquiries.ts listInquiryReviews': OPERATOR,
  'status-inquiry-claims.ts findRailsWithDueInquiries': CLAIM,
  'status-inquiry-claims.ts claimDueStatusInquiries': CLAIM,
  'status-inquiry-claims.ts postponeDueStatusInquiries': CLAIM,
  'status-messages-retention.ts findOldestStatusMessage': OLD,
  'transaction-search.ts sourceOf': OPERATOR,
  'transactions-retention.ts findOldestTransaction': OLD,
  'transactions.ts findNewlyOverdue': CLAIM,
  'transactions.ts listOverdue': OPERATOR,
};

/** A reference to a table of clients, and the name by which the statement means it. */
interface Reference {
  readonly table: string;
  /** '' where it has no alias. */
  readonly alias: string;
}

interface Statement {
  /** `file function`. */
  readonly place: string;
  readonly sql: string;
}

/** The tables with a column client_id, from the generated schema. */
function clientTables(repository: Repository): Set<string> {
  const tables = [...textOf(repository, SCHEMA).matchAll(/create table tiba\.(\w+) \(([^;]*)\);/g)];
  const owned = tables
    .filter(([, , columns = '']) => /^ {2}client_id text/m.test(columns))
    .map(([, name = '']) => name);
  const partitions = [...textOf(repository, SCHEMA).matchAll(/create table tiba\.(\w+) partition of tiba\.(\w+)/g)];
  for (const [, name = '', whole = ''] of partitions) if (owned.includes(whole)) owned.push(name);
  if (owned.length < 10) throw new Error('the rule does not see the tables of clients');
  return new Set(owned);
}

const TEXT = /`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'/g;
const STATEMENT = /^\s*(?:with|select|insert into|update|delete from)\s/i;
/** A function or a constant of the file itself. */
const NAME = /^(?:export )?(?:(?:async )?function\*?|const) (\w+)/gm;

function statementsOf(file: string, code: string): Statement[] {
  const bare = code.replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\w])\/\/.*/g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  const constants = new Map(
    [...bare.matchAll(/const (\w+)(?:: string)? =\s*(`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*')/g)].map(
      ([, name = '', text = '']) => [name, text.slice(1, -1)] as const,
    ),
  );
  const resolve = (text: string, depth = 0): string =>
    text.replaceAll(/\$\{([^{}]*)\}/g, (_, expression: string) => {
      const constant = depth < 5 ? constants.get(expression.trim()) : undefined;
      return constant === undefined ? ' $0 ' : resolve(constant, depth + 1);
    });
  return [...bare.matchAll(TEXT)].flatMap((match) => {
    const sql = resolve(match[0].slice(1, -1)).replaceAll(/--.*/g, ' ');
    if (!STATEMENT.test(sql) || !sql.includes('tiba.')) return [];
    const name = [...bare.slice(0, match.index).matchAll(NAME)].at(-1)?.[1] ?? '';
    // A part of other statements is read where it is used.
    if (constants.has(name) && bare.includes(`\${${name}}`)) return [];
    return [{ place: `${file.slice(FOLDER.length)} ${name}`, sql }];
  });
}

/** What follows the name of a table where it has no alias. */
const KEYWORDS = 'on|set|where|cross|join|left|order|group|union|limit|using|select|values|for|returning|inner|natural';
const REFERENCE = new RegExp(
  String.raw`\b(insert into|from|join|update|using|,)\s+tiba\.(\w+)(?:\s+(?:as\s+)?(?!(?:${KEYWORDS})\b)([a-z]\w*))?`,
  'gi',
);

function referencesOf(sql: string, tables: ReadonlySet<string>): Reference[] {
  return [...sql.matchAll(REFERENCE)].flatMap(([, verb = '', table = '', alias = '']) => {
    // What is inserted is the client's whose ID is inserted.
    if (!tables.has(table) || /insert/i.test(verb)) return [];
    return [{ table, alias }];
  });
}

/** Pairs of names whose client_id is compared: an alias, or anything else. */
const EQUALITY =
  /(?:\b(\w+)\.)?\bclient_id(?: collate "C")?\s*=\s*(?:any\s*\()?\s*(?:(\w+)\.client_id|(\$\d+|\w+\.\w+))?/gi;
const TUPLE = /\((?:\w+\.)?client_id,[^()]*\)\s*(?:=|in)\s*/i;

/** The references that are tied to no client. */
function untied(sql: string, tables: ReadonlySet<string>): Reference[] {
  const references = referencesOf(sql, tables);
  const aliases = new Set(references.map(({ alias }) => alias));
  const tied = new Set<string>();
  const pairs: (readonly [string, string])[] = [];
  for (const [, one = '', other] of sql.matchAll(EQUALITY)) {
    if (other === undefined || !aliases.has(other)) tied.add(one);
    if (other !== undefined && !aliases.has(one)) tied.add(other);
    if (other !== undefined) pairs.push([one, other]);
  }
  const isJoined = /\b(?:using|join)\b[^;]*\busing \(client_id\b|\busing \(client_id\b/i.test(sql) || TUPLE.test(sql);
  // A client_id without an alias is that of the only table.
  if (tied.has('') && aliases.size === 1) return [];
  for (let count = -1; count !== tied.size; ) {
    count = tied.size;
    for (const [one, other] of pairs) {
      if (tied.has(one)) tied.add(other);
      else if (tied.has(other)) tied.add(one);
    }
  }
  return isJoined && tied.size > 0 ? [] : references.filter(({ alias, table }) => !tied.has(alias) && !tied.has(table));
}

export const statementsNameTheirClient: Rule = {
  name: 'each statement is tied to its client by client_id, or is listed with a reason',
  check(repository) {
    const tables = clientTables(repository);
    const used = new Set<string>();
    const found = select(repository, [FOLDER], ['.ts']).flatMap((file) =>
      statementsOf(file, textOf(repository, file)).flatMap(({ place, sql }) => {
        const references = untied(sql, tables);
        if (references.length === 0) return [];
        used.add(place);
        if (EXEMPT[place] !== undefined) return [];
        const names = references.map(({ table, alias }) => `${table} ${alias}`.trim()).join(', ');
        return [`${place}: ${names} without client_id in: ${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 60)}`];
      }),
    );
    const unused = Object.keys(EXEMPT).filter((place) => !used.has(place));
    return [...found, ...unused.map((place) => `${place} is listed, and its statements are tied to their client`)];
  },
  planted: [
    { [`${FOLDER}planted.ts`]: "const FIND = 'select status from tiba.transactions where transaction_id = $1';\n" },
    {
      [`${FOLDER}planted.ts`]:
        'const FIND = `select v.kind from tiba.events v\n  join tiba.transactions t on t.transaction_id = v.subject_id\n' +
        ' where v.client_id = $1`;\n',
    },
    { [`${FOLDER}planted.ts`]: "const MARK = 'update tiba.callback_outbox set state = $1 where sequence = $2';\n" },
    {
      [`${FOLDER}planted.ts`]:
        'const END = `delete from tiba.events v using tiba.clients c where v.client_id = c.client_id`;\n',
    },
  ],
};
